import Broker
import CredentialCore
import JSON
import Providers

/// How a session at social.plus stands in answers, never its token (R162, R202, R205).
extension JSONWriter {
    /// Writes the members of a session; how the last login failed is for those who look, and not for who asks for something else.
    mutating func session(
        _ outlook: SocialPlusOutlook, of account: Account, withLoginError isWanted: Bool = true
    ) {
        key("state")
        string(outlook.state.rawValue)
        key("user_id")
        if let userID = outlook.userID { string(userID) } else { null() }
        key("kind")
        string(outlook.kind.rawValue)
        key("device_id")
        if let device = outlook.device { string(device.text) } else { null() }
        moment("expires_at", account.session.schedule?.expiresAt)
        key("generation")
        integer(account.session.generation.number)
        key("handler")
        bool(outlook.hasHandler)
        moment("next_renewal_at", outlook.nextRenewal)
        if let renewalID = outlook.renewalID {
            key("renewal_id")
            string(String(renewalID))
        }
        if let code = outlook.terminationCode {
            key("termination_code")
            string(code)
        }
        if let obstacle = outlook.obstacle {
            key("why_no_renew")
            string(obstacle.rawValue)
        }
        if isWanted, let setback = outlook.loginSetback {
            key("last_login_error")
            // In the words that whoever logged in was told.
            failure(CallFailure(setback), cause: setback.step.rawValue)
            moment("last_login_error_at", setback.at)
        }
    }
}
