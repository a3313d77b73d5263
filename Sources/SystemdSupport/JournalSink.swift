import CSystemd
import Glibc
package import Log

/// Writes records to the journal with their facts as fields of their own (systemd.journal-fields(7)).
///
/// MESSAGE is the line that people read; PRIORITY, MESSAGE_ID and a `CHATAUTH_…` for each fact are there to be searched for.
package struct JournalSink: LogSink {
    private let fallback = StandardErrorSink(prefix: .number)

    /// Writes to the journal of this machine.
    package init() {}

    /// Sends a record; where that fails, it becomes a line on standard error.
    package func write(_ record: LogRecord) {
        if !Self.send(Self.fields(record)) { fallback.write(record) }
    }

    /// The fields of a record, `NAME=value`, as they go to the journal.
    package static func fields(_ record: LogRecord) -> [String] {
        var fields = ["MESSAGE=" + record.line, "PRIORITY=\(record.level.rawValue)"]
        if let id = record.messageID { fields.append("MESSAGE_ID=" + id) }
        for (field, value) in record.fields {
            fields.append("CHATAUTH_" + field.rawValue.uppercased() + "=" + LogRecord.text(value))
        }
        return fields
    }

    // Without a journal libsystemd answers success and drops the record: whoever chooses this sink has seen one.
    private static func send(_ fields: [String]) -> Bool {
        let bytes = Array(fields.joined().utf8)
        return bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return true }
            var start = UnsafeMutableRawPointer(mutating: base)
            var vectors: [iovec] = []
            for field in fields {
                vectors.append(iovec(iov_base: start, iov_len: field.utf8.count))
                start += field.utf8.count
            }
            return sd_journal_sendv(vectors, Int32(clamping: vectors.count)) >= 0
        }
    }

    /// Whether a descriptor is a stream of the journal, which `JOURNAL_STREAM` describes as `device:inode`.
    package static func isJournal(_ descriptor: Int32, journalStream: String?) -> Bool {
        guard let parts = journalStream?.split(separator: ":", omittingEmptySubsequences: false),
            parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        return fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
            && UInt64(status.st_ino) == inode
    }

    /// The sink for this process: the journal where standard error leads there, else standard error.
    package static func suitable(journalStream: String?) -> any LogSink {
        isJournal(STDERR_FILENO, journalStream: journalStream) ? JournalSink() : StandardErrorSink()
    }
}
