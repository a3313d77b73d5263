import CLinux
import CredentialCore
import EventLoop

/// What the store's thread does while it waits for changes: keeps the epoch file, and tries a store again that a failing disk
/// keeps sealed.
struct StorePause {
    // How long the epoch file may lag, and by how many commits: so much of the end of a history could be taken away unnoticed after
    // a crash. Writing it costs as much as a commit.
    private static let epochDelay: Int64 = 10
    private static let epochLagLimit = 16
    // A sealed store is tried again after this time, then ever more seldom.
    private static let shortestRetry: Int64 = 1000
    private static let longestRetry: Int64 = 60_000

    private let openedAt: WallTime
    private var retryDelay = Self.shortestRetry
    /// Milliseconds of the monotonic clock; nil where nothing is to be done.
    private var retryDue: Int64?
    private var epochDue: Int64?

    init(openedAt: WallTime) { self.openedAt = openedAt }

    /// The next messages, perhaps none; nil when the queue is closed.
    mutating func next(
        _ inbox: Inbox<Message>, _ engine: StoreEngine, _ mailbox: Mailbox<Answer>
    ) -> [Message]? {
        if engine.mayOpenLater { return waitToOpen(inbox, engine, mailbox) }
        retryDue = nil
        retryDelay = Self.shortestRetry
        guard engine.epochLag > 0 else {
            epochDue = nil
            return inbox.takeAll()
        }
        let now = cl_monotonic_nanoseconds() / 1_000_000
        let due = epochDue ?? now + Self.epochDelay
        epochDue = due
        if now < due, engine.epochLag < Self.epochLagLimit {
            return inbox.takeAll(timeoutMilliseconds: due - now)
        }
        epochDue = nil
        let before = engine.status.epochFileFailure
        engine.keepEpoch()
        if engine.status.epochFileFailure != before {
            mailbox.send(Answer(event: .completed([]), status: engine.status))
        }
        return []
    }

    private mutating func waitToOpen(
        _ inbox: Inbox<Message>, _ engine: StoreEngine, _ mailbox: Mailbox<Answer>
    ) -> [Message]? {
        let now = cl_monotonic_nanoseconds() / 1_000_000
        let due = retryDue ?? now + retryDelay
        retryDue = due
        if now < due { return inbox.takeAll(timeoutMilliseconds: due - now) }
        retryDue = nil
        retryDelay = min(retryDelay * 2, Self.longestRetry)
        let before = engine.status.sealed
        let opening = engine.open(now: openedAt)
        if engine.status.sealed != before {
            mailbox.send(Answer(event: .opened(opening), status: engine.status))
        }
        return []
    }
}
