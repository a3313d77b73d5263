package import CredentialCore
import CLinux
package import EventLoop
package import Log
package import Secrets

/// The audit log: who was given a token and who was not, in segments of chained lines, written by a thread of its own.
///
/// Everything that waits is written with one call, so that a disk that is slow delays a hand-out once and not once an entry. What
/// was written is synced within a second. Where it cannot be written, whoever asked is told, and every new batch tries again.
package final class AuditLog: AuditPort {
    /// Who is told; set it before the first entry.
    package weak var observer: (any AuditObserver)?
    /// Whether the newest entries could be written; as the loop knows it.
    package private(set) var isWritable = true

    /// Entries that found no room, since the start; nobody waited for them.
    package private(set) var dropped: Int64 = 0

    private struct Item: Sendable {
        let entry: AuditEntry
        let token: UInt64?
    }

    private struct Completion: Sendable {
        let tokens: [UInt64]
        let isWritten: Bool
    }

    private let inbox: Inbox<Item>
    private let mailbox: Mailbox<Completion>
    private let thread: WorkerThread
    private let relay: Relay
    private let logger: Logger
    private var nextDropNote: Int64 = 0
    private var isClosed = false

    // The mailbox's handler lives as long as the mailbox; the log may end before the last message is read.
    private final class Relay {
        weak var log: AuditLog?
    }

    // The last moment for the sync, so that it ends within a second of the write.
    private static let syncDelay: Int64 = 500_000_000
    /// How many entries may wait: hand-outs are bounded by the calls that wait, so this only ends a run-away.
    package static let usualCapacity = 65_536

    /// Opens the log in `directory` (made 0700 where it is missing) and starts its thread.
    ///
    /// `key` has 32 bytes and chains the lines; `segmentBytes` are reserved for each of at most `segmentCount` segments; `capacity`
    /// entries may wait for the disk.
    package init(
        directory: String, key: SecretBytes, segmentBytes: Int = 1 << 20, segmentCount: Int = 16,
        capacity: Int = AuditLog.usualCapacity, loop: EventLoop, logger: Logger
    ) throws(AuditFailure) {
        let writer = try AuditWriter(
            directory: directory, key: key, segmentBytes: segmentBytes, segmentCount: segmentCount)
        let inbox = Inbox<Item>(capacity: capacity)
        let relay = Relay()
        do throws(EventLoopFailure) {
            let mailbox = try loop.makeMailbox { (completion: Completion) in
                relay.log?.isWritable = completion.isWritten
                for token in completion.tokens {
                    relay.log?.observer?.auditDidWrite(token, isWritten: completion.isWritten)
                }
            }
            thread = try WorkerThread(name: "audit") {
                Self.run(writer, inbox, mailbox, logger)
            }
            self.mailbox = mailbox
        } catch {
            throw .thread(code: error.code)
        }
        self.inbox = inbox
        self.relay = relay
        self.logger = logger
        relay.log = self
    }

    deinit { close() }

    /// Queues an entry; a log that is full or closed answers its token with a refusal.
    package func record(_ entry: AuditEntry, token: UInt64?) {
        guard !inbox.send(Item(entry: entry, token: token)) else { return }
        if let token {
            mailbox.send(Completion(tokens: [token], isWritten: false))
            return
        }
        dropped += 1
        // Once for each minute of it.
        let now = cl_boot_milliseconds()
        guard now >= nextDropNote else { return }
        nextDropNote = now + 60_000
        logger.log(.error, "Audit entries found no room and are lost", (.count, .integer(dropped)))
    }

    /// Takes no more entries; returns once those that wait are written and synced.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        inbox.close()
        thread.join()
    }

    /// The same, but blocks no longer than `limit`; false where something was not written and synced by then.
    package func close(withinMilliseconds limit: Int32) -> Bool {
        guard !isClosed else { return true }
        isClosed = true
        inbox.close()
        return thread.join(withinMilliseconds: limit)
    }

    private static func run(
        _ writer: AuditWriter, _ inbox: Inbox<Item>, _ mailbox: Mailbox<Completion>, _ logger: Logger
    ) {
        var syncAt: Int64 = .max
        var isFailing = false
        func note(_ succeeded: Bool) {
            if !succeeded, !isFailing {
                logger.log(
                    .error, "Audit log cannot be written, new hand-outs are refused",
                    (.code, .integer(Int64(writer.lastFailure))))
            } else if succeeded, isFailing {
                logger.log(.notice, "Audit log can be written again")
            }
            // Denials and repeats have no token: without this nobody would hear how they went.
            if isFailing == succeeded { mailbox.send(Completion(tokens: [], isWritten: succeeded)) }
            isFailing = !succeeded
        }
        while true {
            let now = cl_monotonic_nanoseconds()
            let batch =
                syncAt == .max
                ? inbox.takeAll() : inbox.takeAll(timeoutMilliseconds: (syncAt - now) / 1_000_000 + 1)
            guard let batch else { break }
            if !batch.isEmpty {
                let count = writer.append(batch.map(\.entry))
                answer(batch[..<count], true, mailbox)
                answer(batch[count...], false, mailbox)
                note(count == batch.count)
                if writer.needsSync, syncAt == .max { syncAt = cl_monotonic_nanoseconds() + syncDelay }
            }
            if cl_monotonic_nanoseconds() >= syncAt {
                syncAt = .max
                if !writer.sync() { note(false) }
            }
        }
        writer.sync()
    }

    private static func answer(_ items: ArraySlice<Item>, _ isWritten: Bool, _ mailbox: Mailbox<Completion>) {
        let tokens = items.compactMap(\.token)
        if !tokens.isEmpty { mailbox.send(Completion(tokens: tokens, isWritten: isWritten)) }
    }
}
