import Glibc
import Log
import SystemdSupport
import Testing

/// Keeps the one record that a test logs.
private final class Capture: LogSink, @unchecked Sendable {
    // Each test has one of its own, on one thread.
    var record: LogRecord?
    func write(_ record: LogRecord) { self.record = record }
}

private func captured(_ log: (Logger) -> Void) throws -> LogRecord {
    let capture = Capture()
    log(Logger(sink: capture))
    return try #require(capture.record)
}

private func refreshed() throws -> LogRecord {
    try captured { logger in
        logger.log(
            .notice, "Credential refreshed", id: "0123456789abcdef0123456789abcdef",
            (.account, .public("bot")), (.generation, .integer(3)), (.reason, .private("secret")),
            (.path, .public("/a\nPRIORITY=0")))
    }
}

@Suite struct `Log sinks` {
    @Test func `a record has its facts as fields of the journal, each on one line`() throws {
        #expect(
            try JournalSink.fields(refreshed()) == [
                "MESSAGE=Credential refreshed account=bot generation=3 reason=<6 bytes> path=/a\\u{a}PRIORITY=0",
                "PRIORITY=5",
                "MESSAGE_ID=0123456789abcdef0123456789abcdef",
                "CHATAUTH_ACCOUNT=bot",
                "CHATAUTH_GENERATION=3",
                "CHATAUTH_REASON=<6 bytes>",
                "CHATAUTH_PATH=/a\\u{a}PRIORITY=0",
            ])
        #expect(
            try JournalSink.fields(captured { $0.log(.fault, "X") })
                == ["MESSAGE=X", "PRIORITY=2"])
    }

    @Test(arguments: [
        (StandardErrorSink.Prefix.word, "notice: "), (.number, "<5>"),
    ])
    func `a record is one line with its level before it`(
        _ prefix: StandardErrorSink.Prefix, _ start: String
    ) throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        StandardErrorSink(descriptor: ends[1], prefix: prefix).write(try refreshed())
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        #expect(
            String(decoding: buffer[..<max(0, count)], as: UTF8.self)
                == start
                + "Credential refreshed account=bot generation=3 reason=<6 bytes> path=/a\\u{a}PRIORITY=0\n")
    }

    @Test func `the journal is recognised by device and inode`() {
        var status = stat()
        fstat(STDERR_FILENO, &status)
        let here = "\(status.st_dev):\(status.st_ino)"
        #expect(JournalSink.isJournal(STDERR_FILENO, journalStream: here))
        #expect(JournalSink.suitable(journalStream: here) is JournalSink)
        for other in [
            nil, "", "1", "1:2", "\(status.st_dev):\(status.st_ino &+ 1)", here + ":1", " " + here,
            "\(status.st_dev)",
        ] {
            #expect(!JournalSink.isJournal(STDERR_FILENO, journalStream: other))
            #expect(JournalSink.suitable(journalStream: other) is StandardErrorSink)
        }
        #expect(!JournalSink.isJournal(-1, journalStream: here))
    }
}
