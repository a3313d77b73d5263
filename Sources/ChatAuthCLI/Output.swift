import Glibc
import Secrets

/// Standard output and standard error.
///
/// Data goes out whole or the process fails; diagnostics are tried once, since there is nowhere to report their failure.
enum Output {
    /// Writes everything to standard output, in one call where the system takes it in one.
    static func write(_ data: borrowing SecretBuffer) throws(Failure) {
        // A reader that went away is an error like any other, not a signal: a script shall see exit status 1.
        signal(SIGPIPE, SIG_IGN)
        let errno = data.withSpan { writeAll($0, to: STDOUT_FILENO) }
        guard errno == 0 else { throw .unwritableOutput(errno: errno) }
    }

    /// Closes standard output: some file systems tell only then that they could not store what was written.
    static func close() throws(Failure) {
        guard Glibc.close(STDOUT_FILENO) != 0, errno != EBADF else { return }
        throw .unwritableOutput(errno: errno)
    }

    /// Whether a person looks at standard output.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes `chatauth: ` and the text of the failure as one line to standard error.
    static func report(_ failure: Failure) {
        var line = SecretBuffer(capacity: 256)
        line.append("chatauth: ")
        failure.append(to: &line)
        line.append("\n")
        line.withSpan { _ = writeAll($0, to: STDERR_FILENO) }
    }

    /// Writes a warning as one line to standard error.
    static func warn(_ text: StaticString) {
        var line = SecretBuffer(capacity: 256)
        line.append("chatauth: warning: ")
        line.append(text)
        line.append("\n")
        line.withSpan { _ = writeAll($0, to: STDERR_FILENO) }
    }

    /// Writes a warning that ends with what the daemon or the caller said.
    static func warn(_ text: StaticString, _ detail: String) {
        var line = SecretBuffer(capacity: 256)
        line.append("chatauth: warning: ")
        line.append(text)
        line.append(printable: detail)
        line.append("\n")
        line.withSpan { _ = writeAll($0, to: STDERR_FILENO) }
    }

    /// Writes a question to whoever sits at the terminal.
    static func ask(_ text: StaticString) {
        var line = SecretBuffer(capacity: 64)
        line.append(text)
        line.withSpan { _ = writeAll($0, to: STDERR_FILENO) }
    }

    /// Zero, or the error number.
    private static func writeAll(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int32 {
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            var written = 0
            while written < buffer.count {
                let count = Glibc.write(descriptor, base + written, buffer.count - written)
                if count > 0 {
                    written += count
                } else if count == 0 {
                    return EIO
                } else if errno == EAGAIN {
                    // Somebody made the pipe non-blocking; wait until it takes more.
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    guard poll(&wanted, 1, -1) >= 0 || errno == EINTR else { return errno }
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }
}
