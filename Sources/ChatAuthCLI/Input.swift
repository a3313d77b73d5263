import CLinux
import Glibc
import Secrets

/// Files that a command reads: bounded, into memory that is wiped.
enum Input {
    /// The largest token that the daemon takes.
    static let largestToken = 256 << 10
    /// The largest request that the daemon takes.
    static let largestJSON = 1 << 20

    /// Reads a whole file; `-` is standard input.
    static func read(_ path: Argument, limit: Int) throws(Failure) -> SecretBuffer {
        let isStandardInput = path == "-"
        let descriptor = isStandardInput ? STDIN_FILENO : cl_open(path.start, O_RDONLY | O_NOCTTY, 0)
        let name = isStandardInput ? "standard input" : path.text
        guard descriptor >= 0 else { throw .unreadableInput(path: name, errno: errno) }
        defer { if !isStandardInput { close(descriptor) } }
        var content = SecretBuffer(capacity: 4096)
        while true {
            var count = 0
            content.append(upTo: 64 << 10) { room in
                count = Glibc.read(descriptor, room.baseAddress, room.count)
                return max(count, 0)
            }
            if count == 0 { return content }
            guard count > 0 || errno == EINTR else { throw .unreadableInput(path: name, errno: errno) }
            // One line end more than the limit is no part of a token.
            guard content.count <= limit + 2 else { throw .badInput(path: name, .tooLarge(limit: limit)) }
        }
    }

    /// Reads a token: one line of visible ASCII, whose end is not part of it.
    static func token(_ path: Argument) throws(Failure) -> SecretBuffer {
        if path == "-", isatty(STDIN_FILENO) == 1 {
            Output.warn("reading a token from the terminal, which shows it; end with Control-D")
        }
        var token = try read(path, limit: largestToken)
        let name = path == "-" ? "standard input" : path.text
        if token.withSpan({ $0.last == UInt8(ascii: "\n") }) { token.truncate(to: token.count - 1) }
        if token.withSpan({ $0.last == UInt8(ascii: "\r") }) { token.truncate(to: token.count - 1) }
        guard !token.isEmpty else { throw .badInput(path: name, .empty) }
        guard token.count <= largestToken else { throw .badInput(path: name, .tooLarge(limit: largestToken)) }
        let isVisible = token.withSpan { bytes in
            for index in bytes.indices where !(0x21...0x7E).contains(bytes[index]) { return false }
            return true
        }
        guard isVisible else { throw .badInput(path: name, .notVisibleASCII) }
        return token
    }
}

extension Span<UInt8> {
    fileprivate var last: UInt8? { isEmpty ? nil : self[count - 1] }
}
