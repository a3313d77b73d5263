package import CredentialCore
package import EventLoop
import Secrets

/// Reads referenced files on a thread of its own: a file can lie on a disk, or a network, that does not answer.
///
/// One request after the other, in order. The loop waits for nothing, and a file that cannot be read in time holds up other files only.
package final class FileReader: FilePort {
    /// Gets every outcome, on the loop.
    package weak var observer: (any FileObserver)?

    private struct Request: Sendable {
        let id: UInt64
        let references: [SecretReference]
    }
    private struct Outcome: Sendable {
        let id: UInt64
        let result: Result<[SecretBytes], FileFailure>
    }

    // At a start all accounts ask at once, each for what it refers to.
    private let inbox = Inbox<Request>(capacity: 65_536)
    private let thread: WorkerThread
    private var mailbox: Mailbox<Outcome>

    /// Starts the thread; `owner` is the daemon's own uid, `credentialsDirectory` what systemd calls `$CREDENTIALS_DIRECTORY`, if it does.
    package init(loop: EventLoop, owner: UInt32, credentialsDirectory: String?) throws(EventLoopFailure) {
        let receiver = Receiver()
        let mailbox = try loop.makeMailbox { (outcome: Outcome) in
            receiver.reader?.observer?.filesDidEnd(outcome.id, outcome.result)
        }
        let file = ReferencedFile(owner: owner, credentialsDirectory: credentialsDirectory)
        thread = try WorkerThread(name: "files") { [inbox] in
            while let requests = inbox.takeAll() {
                for request in requests {
                    mailbox.send(Outcome(id: request.id, result: file.read(request.references)))
                }
            }
        }
        self.mailbox = mailbox
        receiver.reader = self
    }

    // Lets the mailbox's handler, which is older than the reader, find it.
    private final class Receiver {
        weak var reader: FileReader?
    }

    deinit { inbox.close() }

    /// Queues a request; one too many ends as `unreadable` with `ReferencedFile.busy`.
    package func read(_ id: UInt64, _ references: [SecretReference]) {
        guard !inbox.send(Request(id: id, references: references)) else { return }
        mailbox.send(Outcome(id: id, result: .failure(.unreadable(index: 0, code: ReferencedFile.busy))))
    }

    /// Takes no more requests and waits until those that are there have been read.
    package func shutdown() {
        inbox.close()
        thread.join()
    }
}
