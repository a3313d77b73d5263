import CLinux
import Glibc
import Secrets

/// A file beside the segments that says how far the log goes, so that lines cut off its end are missed.
///
/// It is written after the lines are on disk, so it never leads them; it may lag by what a power cut took. Whoever can write here
/// can put an older head and an older log back: against that helps only a copy of the number somewhere else.
enum AuditHead {
    private static let name = "head"
    // Fixed, so that it is replaced within one sector.
    private static let length = 256

    static func text(_ chain: AuditChain, key: SecretBytes) -> [UInt8] {
        var text = Array("{\"seq\":\(chain.sequence),\"chain\":\"".utf8)
        text += AuditChain.hex(chain.value)
        text += "\",\"mac\":\"".utf8
        text += AuditChain.hex(mac(chain, key: key))
        text += "\"}".utf8
        text += [UInt8](repeating: UInt8(ascii: " "), count: length - 1 - text.count)
        text.append(UInt8(ascii: "\n"))
        return text
    }

    private static func mac(_ chain: AuditChain, key: SecretBytes) -> [UInt8] {
        let number = Array("\(chain.sequence)".utf8)
        return chain.value(after: number[...], purpose: AuditChain.head, key: key)
    }

    /// The chain that the head names; nil when there is no head or it is not one of ours.
    static func read(_ directory: borrowing AuditDirectory, key: SecretBytes) -> AuditChain? {
        guard let bytes = try? directory.read(name, limit: length) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        // {" seq " :N," chain " : " VALUE " , " mac " : " MAC " }
        guard parts.count == 11, let number = Int64(parts[2].dropFirst().dropLast()),
            let value = AuditReader.bytes(String(parts[5])), let mac = AuditReader.bytes(String(parts[9]))
        else { return nil }
        let chain = AuditChain(sequence: number, value: value)
        return mac == Self.mac(chain, key: key) ? chain : nil
    }

    /// Replaces the head; a failure leaves the log usable and shows when it is verified.
    static func write(_ chain: AuditChain, to directory: borrowing AuditDirectory, key: SecretBytes) {
        let fd = cl_openat(
            directory.descriptor, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else { return }
        defer { close(fd) }
        let text = text(chain, key: key)
        _ = pwrite(fd, text, text.count, 0)
    }
}
