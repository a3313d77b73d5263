import CredentialCore
import EventLoop
import Secrets

/// What the loop asks of the store's thread.
enum Message: Sendable {
    case change(TimedChange)
    case read(UInt64, AccountName)
    /// Opens the store while it is sealed, with another source of the key where one is given.
    case open(MasterKeySource?, WallTime)
    case ping
}

/// What the thread answers.
struct Answer: Sendable {
    enum Event: Sendable {
        case completed([StoreCompletion])
        case read(UInt64, Result<StoredCredential?, StoreFailure>)
        case opened(StoreOpening)
        case pong
    }

    let event: Event
    /// Nil where nothing is known that is new.
    let status: StoreStatus?
}

/// What `SQLiteStore.open` waits for.
struct FirstAnswer: Sendable {
    let opening: StoreOpening
    let status: StoreStatus
}

/// The life of the store's thread: opens, then serves what comes until its queue is closed.
enum StoreThread {
    static func run(
        paths: StorePaths, source: MasterKeySource, format: StoreFormat, random: @escaping RandomSource,
        now: WallTime, inbox: Inbox<Message>, mailbox: Mailbox<Answer>,
        first: Inbox<Result<FirstAnswer, StoreFailure>>
    ) {
        let engine: StoreEngine
        do throws(StoreFailure) {
            engine = try StoreEngine(paths: paths, source: source, format: format, random: random)
        } catch {
            first.send(.failure(error))
            return
        }
        let opening = engine.open(now: now)
        first.send(.success(FirstAnswer(opening: opening, status: engine.status)))
        var pause = StorePause(openedAt: now)
        while let messages = pause.next(inbox, engine, mailbox) { serve(messages, engine, mailbox) }
        engine.keepEpoch()
    }

    private static func serve(_ messages: [Message], _ engine: StoreEngine, _ mailbox: Mailbox<Answer>) {
        var group: [TimedChange] = []
        func commitGroup() {
            guard !group.isEmpty else { return }
            let reason = engine.commit(group) { completions in
                mailbox.send(Answer(event: .completed(completions), status: engine.status))
            }
            if let reason {
                mailbox.send(Answer(event: .opened(.sealed(reason)), status: engine.status))
            }
            group = []
        }
        for message in messages {
            switch message {
            case .change(let change): group.append(change)
            case .read(let id, let account):
                commitGroup()
                mailbox.send(Answer(event: .read(id, engine.read(account)), status: nil))
            case .open(let source, let now):
                commitGroup()
                guard !engine.isOpen else { continue }
                let opening = engine.open(source, now: now)
                mailbox.send(Answer(event: .opened(opening), status: engine.status))
            case .ping:
                commitGroup()
                mailbox.send(Answer(event: .pong, status: nil))
            }
        }
        commitGroup()
    }
}
