import Glibc
package import Log

/// Writes each record as one line to a descriptor, with one write(2), so that lines of threads and processes do not mix.
package struct StandardErrorSink: LogSink {
    private let descriptor: Int32
    private let prefix: Prefix

    /// How a line says its level.
    package enum Prefix: Sendable {
        /// `error: …`, for people.
        case word
        /// `<3>…`, for the journal (sd-daemon(3)).
        case number
    }

    /// Writes to `descriptor`, which stays the caller's.
    package init(descriptor: Int32 = STDERR_FILENO, prefix: Prefix = .word) {
        self.descriptor = descriptor
        self.prefix = prefix
    }

    /// Writes a record as one line; a failure is passed over.
    package func write(_ record: LogRecord) {
        let start =
            switch prefix {
            case .word: "\(record.level): "
            case .number: "<\(record.level.rawValue)>"
            }
        var line = start + record.line + "\n"
        line.withUTF8 { bytes in
            var result: Int
            repeat {
                result = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            } while result < 0
                && errno == EINTR
            // Nobody to tell.
        }
    }
}
