package import CredentialCore
package import EventLoop
import JOSE
import Secrets

/// Signs and verifies on a thread of its own, one order after the other: an RSA signature takes longer than a hundred cached answers.
///
/// The thread starts with the first order, and libcrypto is loaded there: most daemons need neither.
package final class SigningThread: SigningPort {
    /// Gets every outcome, on the loop.
    package weak var observer: (any SigningObserver)?

    private enum Order: Sendable {
        case sign(SigningOrder)
        case halfHash(HashOrder)
        case verify(VerificationOrder)
    }
    private enum Outcome: Sendable {
        case signed(UInt64, Result<SecretBytes, SigningFailure>)
        case verified(UInt64, Result<Void, VerificationFailure>)
    }

    /// Orders that may wait.
    package static let queueLimit = 4096

    private let inbox = Inbox<Order>(capacity: queueLimit)
    private let mailbox: Mailbox<Outcome>
    private var thread: WorkerThread?

    /// Makes ready for orders; nothing is started yet.
    package init(loop: EventLoop) throws(EventLoopFailure) {
        let receiver = Receiver()
        let mailbox = try loop.makeMailbox { (outcome: Outcome) in
            switch outcome {
            case .signed(let id, let result): receiver.signing?.observer?.signingDidEnd(id, result)
            case .verified(let id, let result): receiver.signing?.observer?.verificationDidEnd(id, result)
            }
        }
        self.mailbox = mailbox
        receiver.signing = self
    }

    // Lets the mailbox's handler, which is older than the thread's owner, find it.
    private final class Receiver {
        weak var signing: SigningThread?
    }

    deinit { inbox.close() }

    /// Queues an order; one too many ends as `busy`.
    package func sign(_ order: SigningOrder) {
        guard start() else { return mailbox.send(.signed(order.id, .failure(.libraryFailed))) }
        guard !inbox.send(.sign(order)) else { return }
        mailbox.send(.signed(order.id, .failure(.busy)))
    }

    /// Queues an order; one too many ends as `busy`.
    package func halfHash(_ order: HashOrder) {
        guard start() else { return mailbox.send(.signed(order.id, .failure(.libraryFailed))) }
        guard !inbox.send(.halfHash(order)) else { return }
        mailbox.send(.signed(order.id, .failure(.busy)))
    }

    /// Queues an order; one too many ends as `busy`.
    package func verify(_ order: VerificationOrder) {
        guard start() else { return mailbox.send(.verified(order.id, .failure(.libraryFailed))) }
        guard !inbox.send(.verify(order)) else { return }
        mailbox.send(.verified(order.id, .failure(.busy)))
    }

    /// Takes no more orders and waits until those that are there have been carried out.
    package func shutdown() {
        inbox.close()
        thread?.join()
    }

    private func start() -> Bool {
        if thread == nil {
            thread = try? WorkerThread(name: "signing") { [inbox, mailbox] in
                while let orders = inbox.takeAll() {
                    for order in orders { mailbox.send(Self.carryOut(order)) }
                }
            }
        }
        return thread != nil
    }

    private static func carryOut(_ order: Order) -> Outcome {
        switch order {
        case .sign(let order):
            .signed(
                order.id,
                Result { () throws(SigningFailure) in
                    let key = try Key(reading: order.key, order.algorithm, isPrivate: true)
                    return try JWTMinter.mint(claims: order.claims, key: key, keyID: order.keyID)
                })
        case .halfHash(let order): .signed(order.id, order.outcome)
        case .verify(let order):
            .verified(
                order.id, Result { () throws(VerificationFailure) in try IDToken.verify(order) })
        }
    }
}
