package import CredentialCore
import JOSE
import Secrets

/// Signs and verifies for real, when the test says so.
package final class DirectSigner: SigningPort {
    package weak var observer: (any SigningObserver)?
    private var waiting: [() -> Void] = []

    package init() {}

    package func sign(_ order: SigningOrder) {
        waiting.append { [unowned self] in
            observer?.signingDidEnd(
                order.id,
                Result { () throws(SigningFailure) in
                    let key = try Key(reading: order.key, order.algorithm, isPrivate: true)
                    return try JWTMinter.mint(claims: order.claims, key: key, keyID: order.keyID)
                })
        }
    }

    package func halfHash(_ order: HashOrder) {
        waiting.append { [unowned self] in observer?.signingDidEnd(order.id, order.outcome) }
    }

    package func verify(_ order: VerificationOrder) {
        waiting.append { [unowned self] in
            observer?.verificationDidEnd(
                order.id, Result { () throws(VerificationFailure) in try IDToken.verify(order) })
        }
    }

    /// Carries out the oldest order; false when there is none.
    package func completeOne() -> Bool {
        guard !waiting.isEmpty else { return false }
        waiting.removeFirst()()
        return true
    }
}
