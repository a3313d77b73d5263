import AuditLog
import CredentialCore
import Glibc
import Secrets

/// 0, 1, 2 … 31.
let key: SecretBytes = {
    var bytes = SecretBuffer()
    for byte in 0..<32 as Range<UInt8> { bytes.append(byte) }
    return bytes.finish()
}()

/// A directory of its own for each test, removed with all that is in it.
final class Scratch {
    let parent: String
    var path: String { parent + "/audit" }

    init() {
        var template = Array("/tmp/chatauth-audit-XXXXXX".utf8CString)
        parent = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? ""
        }
    }

    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
        rmdir(parent)
    }

    var names: [String] {
        guard let handle = opendir(path) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func read(_ name: String) -> String {
        guard let file = fopen(path + "/" + name, "re") else { return "" }
        defer { fclose(file) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return String(decoding: content, as: UTF8.self) }
            content += chunk[..<count]
        }
    }

    func write(_ name: String, _ text: String) {
        guard let file = fopen(path + "/" + name, "we") else { return }
        fputs(text, file)
        fclose(file)
    }

    func remove(_ name: String) { unlink(path + "/" + name) }

    /// All lines of all segments, in order.
    var lines: [String] {
        names.filter { $0.hasPrefix("audit-") }.flatMap { name in
            read(name).split(separator: "\n").map(String.init)
        }
    }

    func writer(
        segmentBytes: Int = 1 << 20, segmentCount: Int = 4, faults: Faults = Faults()
    ) throws(AuditFailure) -> AuditWriter {
        try AuditWriter(
            directory: path, key: key, segmentBytes: segmentBytes, segmentCount: segmentCount,
            write: { faults.write($0, $1) })
    }

    func verify() throws(AuditFailure) -> AuditVerification {
        try AuditVerification.verify(directory: path, key: key)
    }
}

/// A disk that fails when it is told to.
final class Faults: @unchecked Sendable {
    // One thread only, as the writer that it belongs to.
    var code: Int32 = 0
    /// Bytes that are still taken before it fails.
    var taken = 0

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        guard code != 0 else { return Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
        guard taken > 0 else {
            errno = code
            return -1
        }
        let count = Glibc.write(descriptor, bytes.baseAddress, min(taken, bytes.count))
        taken -= max(0, count)
        return count
    }
}

func entry(
    _ connection: UInt64 = 7, method: String = "token.get", account: String? = "bot",
    decision: AuditEntry.Decision = .handedOut, reason: String? = nil
) -> AuditEntry {
    AuditEntry(
        time: WallTime(milliseconds: 1_767_225_600_123),
        peer: Peer(pid: 42, uid: 1000, gid: 1000, groups: []), connection: connection, method: method,
        account: account.flatMap { AccountName($0) }, generation: account.map { _ in Generation(3) },
        decision: decision, reason: reason)
}
