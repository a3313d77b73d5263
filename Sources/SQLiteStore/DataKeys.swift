import CSodium
import CredentialCore
import Secrets

/// What says which store this is and holds its data key, wrapped by the master key.
struct KeyHeader: Equatable {
    /// 16 random bytes.
    var storeID: [UInt8]
    var dataKeyID: Int64
    /// Keyed BLAKE2b of a constant and the store's id under the master key: tells a wrong key before anything is opened.
    var masterCheck: [UInt8]
    /// The data key, sealed under the master key.
    var wrapped: [UInt8]
}

/// The keys that a store works with, each derived from its data key for one purpose; the data key itself is not kept.
///
/// | bytes  | for                                          |
/// | ------ | -------------------------------------------- |
/// | 0–31   | sealing rows                                 |
/// | 32–63  | the head's authentication code               |
/// | 64–95  | the hashes of rows that the head covers      |
/// | 96–127 | the epoch file's authentication code         |
final class DataKeys {
    enum Purpose: Int, CaseIterable {
        case rows, head, rowHashes, epochFile
    }

    private let memory: GuardedMemory
    var isLocked: Bool { memory.isLocked }

    private init(dataKey: UnsafeRawBufferPointer) {
        memory = GuardedMemory(count: Purpose.allCases.count * Seal.keyLength) { room in
            for purpose in Purpose.allCases {
                _ = crypto_kdf_derive_from_key(
                    room.bytes + purpose.rawValue * Seal.keyLength, Seal.keyLength,
                    UInt64(purpose.rawValue + 1), "chatauth",
                    dataKey.bytes)
            }
        }
    }

    /// Lends the keys for the length of `body`; not to be nested.
    func withKeys<Result, Failure: Error>(
        _ body: (OpenKeys) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try memory.withBytes { bytes throws(Failure) in try body(OpenKeys(bytes: bytes)) }
    }

    // MARK: The data key

    /// Draws a data key for a new store and wraps it.
    static func create(master: GuardedMemory, random: RandomSource) -> (KeyHeader, DataKeys) {
        var storeID = [UInt8](repeating: 0, count: 16)
        storeID.withUnsafeMutableBytes { random($0) }
        let dataKey = GuardedMemory(count: Seal.keyLength) { random($0) }
        var header = KeyHeader(storeID: storeID, dataKeyID: 1, masterCheck: [], wrapped: [])
        header.masterCheck = check(of: master, storeID: storeID)
        let keys = dataKey.withBytes { dataKey in
            header.wrapped = master.withBytes { master in
                Seal.seal(
                    dataKey.bindMemory(to: UInt8.self).span, key: master,
                    associatedData: associatedData(header), random: random)
            }
            return DataKeys(dataKey: dataKey)
        }
        return (header, keys)
    }

    /// Unwraps the data key of `header`.
    ///
    /// - Throws: `.keyWrong` when the master key is another one, `.corrupt(.header)` when it is right and the data key is not.
    static func unwrap(_ header: KeyHeader, master: GuardedMemory) throws(StoreFailure) -> DataKeys {
        guard Seal.isEqual(header.masterCheck, check(of: master, storeID: header.storeID)) else {
            throw .keyWrong
        }
        var plain = SecretBuffer(capacity: Seal.keyLength + 1)
        let isOpen = master.withBytes { master in
            do throws(SealFailure) {
                try Seal.open(
                    header.wrapped.span, key: master, associatedData: associatedData(header), into: &plain)
                return true
            } catch {
                return false
            }
        }
        guard isOpen, plain.count == Seal.keyLength else { throw .corrupt(detail: .header) }
        return plain.withSpan { $0.withUnsafeBytes { DataKeys(dataKey: $0) } }
    }

    private static func check(of master: GuardedMemory, storeID: [UInt8]) -> [UInt8] {
        var data = AssociatedData()
        data.append("chatauth master key check 1")
        data.append(bytes: storeID)
        return master.withBytes { Seal.keyedHash(data.bytes, key: $0) }
    }

    private static func associatedData(_ header: KeyHeader) -> [UInt8] {
        var data = AssociatedData()
        data.append(SealedRow.format)
        data.append(bytes: header.storeID)
        data.append("data_key")
        data.append("wrapped")
        data.append(header.dataKeyID)
        data.append(bytes: header.masterCheck)
        return data.bytes
    }
}

/// The keys while they may be read; not to be kept beyond `withKeys`.
struct OpenKeys {
    fileprivate let bytes: UnsafeRawBufferPointer

    subscript(purpose: DataKeys.Purpose) -> UnsafeRawBufferPointer {
        let start = purpose.rawValue * Seal.keyLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<(start + Seal.keyLength)])
    }
}
