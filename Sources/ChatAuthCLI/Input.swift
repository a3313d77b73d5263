import CLinux
import Glibc
import JSON
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

    /// Whether standard input is a file or a pipe with something in it that nobody has read.
    static var isWaiting: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return lseek(STDIN_FILENO, 0, SEEK_CUR) < status.st_size
        case S_IFIFO:
            var pipe = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            return poll(&pipe, 1, 0) == 1 && pipe.revents & Int16(POLLIN) != 0
        default: return false
        }
    }

    /// Reads a secret: any text; one line end behind it is not part of it, unless `isExact`.
    static func secret(
        _ path: Argument, asking question: StaticString, limit: Int, isExact: Bool
    ) throws(Failure) -> SecretBuffer {
        let isTyped = path == "-" && isatty(STDIN_FILENO) == 1
        var secret = isTyped ? try Prompt.line(question, limit: limit) : try read(path, limit: limit)
        let name = path == "-" ? "standard input" : path.text
        if !isExact { secret.dropLineEnd() }
        guard !secret.isEmpty else { throw .badInput(path: name, .empty) }
        guard secret.count <= limit else { throw .badInput(path: name, .tooLarge(limit: limit)) }
        // JSON carries text: other bytes would arrive as something else.
        guard secret.withSpan({ $0.isUTF8 }) else { throw .badInput(path: name, .notUTF8) }
        return secret
    }

    /// Reads a token: one line of visible ASCII, whose end is not part of it.
    static func token(_ path: Argument, asking question: StaticString) throws(Failure) -> SecretBuffer {
        let token = try secret(path, asking: question, limit: largestToken, isExact: false)
        let isVisible = token.withSpan { bytes in
            for index in bytes.indices where !(0x21...0x7E).contains(bytes[index]) { return false }
            return true
        }
        guard isVisible else {
            throw .badInput(path: path == "-" ? "standard input" : path.text, .notVisibleASCII)
        }
        return token
    }
}

extension SecretBuffer {
    /// Drops one line end at the end, `\n` or `\r\n`.
    fileprivate mutating func dropLineEnd() {
        guard withSpan({ $0.last == UInt8(ascii: "\n") }) else { return }
        truncate(to: count - 1)
        if withSpan({ $0.last == UInt8(ascii: "\r") }) { truncate(to: count - 1) }
    }
}

extension Span<UInt8> {
    fileprivate var last: UInt8? { isEmpty ? nil : self[count - 1] }

    fileprivate var isUTF8: Bool {
        var index = 0
        while index < count {
            guard self[index] >= 0x80 else {
                index += 1
                continue
            }
            guard let length = UTF8Sequence.length(self, at: index) else { return false }
            index += length
        }
        return true
    }
}
