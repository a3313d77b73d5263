package import CredentialCore
package import EventLoop
import JSON
package import Secrets

/// Reads accounts that come over RPC on a thread of its own: the names in their rules may have to be looked up on another machine.
package final class NameLookup {
    /// The account, or everything that is wrong with its description.
    package typealias Answer = Result<AccountDefinition, AccountDefinitionJSON.Failure>

    private struct Question: Sendable {
        let id: UInt64
        let parameters: SecretBytes
    }

    private let inbox = Inbox<Question>(capacity: 1024)
    private let mailbox: Mailbox<(id: UInt64, answer: Answer)>
    private let waiting: Waiting
    private var lastID: UInt64 = 0

    // The mailbox's handler is older than the lookup.
    private final class Waiting {
        var completions: [UInt64: (Answer) -> Void] = [:]
    }

    /// Starts the thread; `names` makes what is asked there.
    package init(loop: EventLoop, names: @escaping @Sendable () -> any NameResolver) throws(EventLoopFailure)
    {
        let waiting = Waiting()
        let mailbox = try loop.makeMailbox { (message: (id: UInt64, answer: Answer)) in
            waiting.completions.removeValue(forKey: message.id)?(message.answer)
        }
        _ = try WorkerThread(name: "names") { [inbox] in
            while let questions = inbox.takeAll() {
                for question in questions {
                    mailbox.send((question.id, Self.read(question.parameters, names())))
                }
            }
        }
        self.waiting = waiting
        self.mailbox = mailbox
    }

    deinit { inbox.close() }

    /// Reads the parameters of `account.add`, which were parsed before; false, and no answer, when too many are waiting.
    package func read(_ parameters: SecretBytes, _ completion: @escaping (Answer) -> Void) -> Bool {
        lastID += 1
        guard inbox.send(Question(id: lastID, parameters: parameters)) else { return false }
        waiting.completions[lastID] = completion
        return true
    }

    private static func read(_ parameters: SecretBytes, _ names: any NameResolver) -> Answer {
        parameters.withSpan { bytes in
            var document = JSONDocument()
            // It was parsed before it was handed here.
            guard let value = try? document.parse(bytes) else {
                return .failure(AccountDefinitionJSON.Failure(faults: []))
            }
            do throws(AccountDefinitionJSON.Failure) {
                return .success(try AccountDefinitionJSON.added(value, names: names))
            } catch {
                return .failure(error)
            }
        }
    }
}
