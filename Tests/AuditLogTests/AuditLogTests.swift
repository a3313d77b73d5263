import AuditLog
import CredentialCore
import EventLoop
import Glibc
import Log
import Secrets
import Testing

private struct Silent: LogSink {
    func write(_ record: LogRecord) {}
}

/// Counts what is logged.
final class Counting: LogSink, @unchecked Sendable {
    // Written by the one thread of the test.
    private(set) var count = 0
    func write(_ record: LogRecord) { count += 1 }
}

private final class Observer: AuditObserver {
    var outcomes: [(token: UInt64, isWritten: Bool)] = []
    func auditDidWrite(_ token: UInt64, isWritten: Bool) { outcomes.append((token, isWritten)) }
}

@Suite struct `Audit log on the loop` {
    @Test func `each token is answered once, in order, when its line is in the log`() throws {
        let scratch = Scratch()
        let loop = try EventLoop()
        let observer = Observer()
        let log = try AuditLog(
            directory: scratch.path, key: key, segmentBytes: 65_536, segmentCount: 100, loop: loop,
            logger: Logger(sink: Silent()))
        log.observer = observer
        for number in 0..<1000 as Range<UInt64> {
            log.record(entry(number), token: number)
            log.record(entry(number, decision: .repeated(count: 2)), token: nil)
            #expect(observer.outcomes.isEmpty)
        }
        while observer.outcomes.count < 1000 { #expect(try loop.runOnce(timeoutMilliseconds: 5000)) }
        #expect(observer.outcomes.map(\.token) == Array(0..<1000))
        #expect(observer.outcomes.allSatisfy { $0.isWritten })
        log.close()
        let result = try scratch.verify()
        #expect(result.fault == nil)
        #expect(result.lines == 2000 + result.segments)
        #expect(result.lastSequence == Int64(result.lines))
        log.record(entry(), token: 5000)
        #expect(try loop.runOnce(timeoutMilliseconds: 5000))
        #expect(observer.outcomes.last?.token == 5000)
        #expect(observer.outcomes.last?.isWritten == false)
    }

    @Test func `entries that find no room are counted, and that is logged once`() throws {
        let scratch = Scratch()
        let loop = try EventLoop()
        let observer = Observer()
        let sink = Counting()
        let log = try AuditLog(
            directory: scratch.path, key: key, capacity: 0, loop: loop, logger: Logger(sink: sink))
        log.observer = observer
        for _ in 0..<3 { log.record(entry(decision: .denied), token: nil) }
        #expect(log.dropped == 3)
        #expect(sink.count == 1)
        // Somebody waits for this one, and is told.
        log.record(entry(), token: 9)
        #expect(try loop.runOnce(timeoutMilliseconds: 5000))
        #expect(observer.outcomes.map(\.isWritten) == [false])
        #expect(log.dropped == 3)
        log.close()
    }

    @Test func `what is written is synced within a second, without another entry`() throws {
        let scratch = Scratch()
        let loop = try EventLoop()
        let observer = Observer()
        let log = try AuditLog(
            directory: scratch.path, key: key, loop: loop, logger: Logger(sink: Silent()))
        log.observer = observer
        log.record(entry(), token: 1)
        #expect(try loop.runOnce(timeoutMilliseconds: 5000))
        // The head is written behind the sync, by the thread alone.
        var mayWait = 100
        while scratch.read("head").isEmpty, mayWait > 0 {
            mayWait -= 1
            poll(nil, 0, 10)
        }
        #expect(scratch.read("head").hasPrefix("{\"seq\":2,"))
        log.close()
    }

    @Test func `a log may end while answers are under way`() throws {
        let scratch = Scratch()
        let loop = try EventLoop()
        do {
            let log = try AuditLog(
                directory: scratch.path, key: key, loop: loop, logger: Logger(sink: Silent()))
            for number in 0..<100 as Range<UInt64> { log.record(entry(number), token: number) }
        }
        while try loop.runOnce(timeoutMilliseconds: 0) {}
        #expect(try scratch.verify().lines == 101)
    }
}
