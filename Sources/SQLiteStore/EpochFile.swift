import CredentialCore
import Glibc

/// The epoch of the last commit, kept in another directory than the store: a store with an earlier one was put back.
///
/// One line: `chatauth-epoch 1 STORE-ID EPOCH CODE`, ids and code in hexadecimal, the code keyed with the store's data key. It is
/// written after the commit, and after some commits where they come fast, so it may lag the store and never leads it. It is written
/// before a new store is, with epoch 0.
struct EpochFile {
    private static let name = "epoch"
    private static let lengthLimit = 256

    let directory: PrivateDirectory

    struct Content: Equatable {
        var storeID: [UInt8]
        var epoch: Int64
        var code: [UInt8]
    }

    /// Nil where there is no file.
    ///
    /// - Throws: `.rolledBack` where it is not what was written.
    func read() throws(StoreFailure) -> Content? {
        guard let file = try directory.open(Self.name) else { return nil }
        let line = String(decoding: try file.read(upTo: Self.lengthLimit), as: UTF8.self)
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard line.hasSuffix("\n"), words.count == 5, words[0] == "chatauth-epoch", words[1] == "1",
            let storeID = Hexadecimal.bytes(words[2]), let epoch = Int64(words[3]), epoch >= 0,
            let code = Hexadecimal.bytes(words[4].dropLast())
        else { throw .rolledBack }
        return Content(storeID: storeID, epoch: epoch, code: code)
    }

    func write(epoch: Int64, header: KeyHeader, keys: OpenKeys) throws(StoreFailure) {
        let code = Self.code(epoch: epoch, header: header, keys: keys)
        let line = "chatauth-epoch 1 \(Hexadecimal.text(header.storeID)) \(epoch) \(Hexadecimal.text(code))\n"
        try directory.replace(Self.name, with: Array(line.utf8))
    }

    /// Says whether a store with `epoch` is the newest there was; returns the epoch in the file.
    ///
    /// - Throws: `.rolledBack` where it is not, or where nothing is there to tell.
    func check(epoch: Int64, header: KeyHeader, keys: OpenKeys) throws(StoreFailure) -> Int64 {
        guard let content = try read(), content.storeID == header.storeID,
            Seal.isEqual(content.code, Self.code(epoch: content.epoch, header: header, keys: keys)),
            content.epoch <= epoch
        else { throw .rolledBack }
        return content.epoch
    }

    /// Says whether a store may be made here: there never was one, or its making was interrupted.
    func checkThatNothingWasWritten() throws(StoreFailure) {
        guard let content = try read() else { return }
        guard content.epoch == 0 else { throw .rolledBack }
    }

    private static func code(epoch: Int64, header: KeyHeader, keys: OpenKeys) -> [UInt8] {
        var data = AssociatedData()
        data.append("chatauth epoch 1")
        data.append(bytes: header.storeID)
        data.append(epoch)
        return Seal.keyedHash(data.bytes, key: keys[.epochFile])
    }
}

/// Lower-case hexadecimal.
enum Hexadecimal {
    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Nil for anything that `text` does not write.
    static func bytes(_ text: Substring) -> [UInt8]? {
        var nibbles: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibbles.append(byte - 48)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibbles.append(byte - 87)
            default: return nil
            }
        }
        guard nibbles.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
    }
}
