import Broker
import CredentialCore
import Providers

/// What is said where an account's platform has words of its own for a failure: what it was meant for, and what leads out of it.
extension Account {
    /// Nil: what is said of any account.
    func words(for failure: SessionFailure) -> String? {
        switch (definition.platform, failure) {
        case (.chatbase, .parked):
            "the identity was meant for another destination; put the old configuration back, sign in again, or forget it with chatauth identity logout"
        case (.socialPlus, .parked):
            "the session was meant for another destination; put the old configuration back, log in again, or forget it with chatauth session logout"
        case (.socialPlus, .gated(.terminated)):
            "the platform ended the session for good: \(SocialPlusCode.words(forEndBy: socialPlus?.terminationCode)); only chatauth session logout leaves this state"
        case (.socialPlus, .gated(.ending)): "the session is being ended; try again when that is over"
        case (.socialPlus, .refresh(let failure, _)) where failure.kind == .handlerRequired:
            "nobody gives the next token: no handler is registered for \(renewalQuestion.rawValue), and there is no source"
        default: nil
        }
    }

    /// What is asked of a handler when the session's next token is due.
    private var renewalQuestion: HandlerQuestion.Kind { (socialPlus?.kind ?? .default).renewalQuestion }
}
