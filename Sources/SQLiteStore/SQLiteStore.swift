import CLinux
package import CredentialCore
package import EventLoop
package import Secrets

/// The store as the loop sees it: changes go to a thread of its own, answers come back through a mailbox.
///
/// The thread takes everything that waits and commits it as one group, so that many changes cost one sync. At most `queueLimit` messages
/// wait; the next change is answered with `.busy`.
package final class SQLiteStore: StorePort {
    /// Gets every completion and every outcome of `reopen` and `unseal`.
    package weak var observer: (any StoreObserver)?
    /// As of the last answer.
    package private(set) var status: StoreStatus
    /// Called on the loop when the space for what spent grants bring is there again, or not any more.
    package var ballastDidChange: ((_ isThere: Bool) -> Void)?

    private let inbox: Inbox<Message>
    private let thread: WorkerThread
    private let clock: any Clock
    private let mailbox: Mailbox<Answer>
    private let relay: Relay
    private var pings: [() -> Void] = []
    private var isClosed = false

    /// Changes and questions that may wait for the thread.
    package static let queueLimit = 4096

    /// Random bytes from the kernel.
    package static let systemRandom: RandomSource = { bytes in
        // It cannot fail for a running system; going on without randomness would disclose keys.
        precondition(cl_random(bytes.baseAddress, bytes.count) == 0, "the kernel gives no random bytes")
    }

    /// Takes the store's lock and opens it, or finds out why it stays sealed; blocks for as long as that takes.
    ///
    /// - Throws: `.inUse` where another daemon has the store, `.io` or `.full` where the lock or a directory cannot be had or is not
    ///   private: nothing can be done then but to end.
    package static func open(
        paths: StorePaths, loop: EventLoop, keySource: MasterKeySource, clock: any Clock,
        format: StoreFormat = .current, random: @escaping RandomSource = SQLiteStore.systemRandom
    ) throws(StoreFailure) -> (store: SQLiteStore, opening: StoreOpening) {
        let relay = Relay()
        let inbox = Inbox<Message>(capacity: queueLimit)
        let first = Inbox<Result<FirstAnswer, StoreFailure>>()
        let now = clock.now.wall
        let mailbox: Mailbox<Answer>
        let thread: WorkerThread
        do throws(EventLoopFailure) {
            mailbox = try loop.makeMailbox { [relay] in relay.store?.receive($0) }
            thread = try WorkerThread(name: "store") {
                StoreThread.run(
                    paths: paths, source: keySource, format: format, random: random, now: now, inbox: inbox,
                    mailbox: mailbox, first: first)
            }
        } catch {
            throw StoreFailure(errno: error.code)
        }
        guard let answer = first.takeAll()?.first else { preconditionFailure("the thread answers first") }
        switch answer {
        case .failure(let failure):
            thread.join()
            throw failure
        case .success(let answer):
            let store = SQLiteStore(
                inbox: inbox, thread: thread, clock: clock, mailbox: mailbox, relay: relay,
                status: answer.status)
            relay.store = store
            return (store, answer.opening)
        }
    }

    private init(
        inbox: Inbox<Message>, thread: WorkerThread, clock: any Clock, mailbox: Mailbox<Answer>, relay: Relay,
        status: StoreStatus
    ) {
        self.inbox = inbox
        self.thread = thread
        self.clock = clock
        self.mailbox = mailbox
        self.relay = relay
        self.status = status
    }

    deinit { close() }

    // MARK: StorePort

    /// Queues a change for the store's thread.
    ///
    /// When the queue is full it ends with `busy`, when the store is closed with `sealed`.
    package func submit(_ change: StoreChange) {
        let timed = TimedChange(change: change, at: clock.now.wall)
        if inbox.send(.change(timed)) { return }
        mailbox.send(
            Answer(
                event: .completed([StoreCompletion(id: change.id, failure: isClosed ? .sealed : .busy)]),
                status: nil))
    }

    /// Queues a question for the store's thread, which has `busy` and `sealed` for answers as a change has.
    package func read(_ id: UInt64, credentialOf account: AccountName) {
        if inbox.send(.read(id, account)) { return }
        mailbox.send(Answer(event: .read(id, .failure(isClosed ? .sealed : .busy)), status: nil))
    }

    /// Does nothing while the store is open.
    package func reopen() {
        inbox.send(.open(nil, clock.now.wall))
    }

    /// Opens a sealed store with a key that somebody handed over; makes the store where there is none yet.
    ///
    /// The outcome comes later. Does nothing while the store is open.
    package func unseal(with key: SecretBytes) {
        inbox.send(.open(.bytes(key), clock.now.wall))
    }

    // MARK: Life

    /// Calls `answered` on the loop once the thread has done what waits before this; for a watchdog.
    ///
    /// - Returns: false when the queue is full, and `answered` will not be called.
    package func ping(_ answered: @escaping () -> Void) -> Bool {
        guard inbox.send(.ping) else { return false }
        pings.append(answered)
        return true
    }

    /// Commits what waits, then lets go of file and lock; blocks for as long as that takes.
    ///
    /// Completions still come if the loop goes on. Later changes are answered with `.sealed`.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        inbox.close()
        thread.join()
    }

    /// The same, but blocks no longer than `limit`; false where the thread still has something to do, which ends with the process.
    ///
    /// SQLite finds its journal at the next start, so that nothing is lost but what nobody was told of.
    package func close(withinMilliseconds limit: Int32) -> Bool {
        guard !isClosed else { return true }
        isClosed = true
        inbox.close()
        return thread.join(withinMilliseconds: limit)
    }

    private func receive(_ answer: Answer) {
        if let status = answer.status {
            let before = self.status.hasBallast
            self.status = status
            if let isThere = status.hasBallast, isThere != before, before != nil || !isThere {
                ballastDidChange?(isThere)
            }
        }
        switch answer.event {
        case .completed(let completions):
            for completion in completions { observer?.storeDidComplete(completion) }
        case .read(let id, let outcome): observer?.storeDidRead(id, outcome)
        case .opened(.open(let contents)): observer?.storeDidOpen(contents)
        case .opened(.sealed(let reason)): observer?.storeDidStaySealed(reason)
        case .pong: pings.removeFirst()()
        }
    }

    // Stands between the mailbox and the store, which is made after it.
    private final class Relay {
        weak var store: SQLiteStore?
    }
}
