import Broker
import CredentialCore
import JSON
import Providers

/// How a session at social.plus stands in answers, never its token (R162, R202, R205).
extension JSONWriter {
    /// Writes the members of a session.
    mutating func session(_ outlook: SocialPlusOutlook, of account: Account) {
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
        if let setback = outlook.loginSetback {
            key("last_login_error")
            loginError(setback)
            moment("last_login_error_at", setback.at)
        }
    }

    /// Writes why a login failed, in the words that whoever logged in was told, and where it ended.
    private mutating func loginError(_ setback: SocialPlusSetback) {
        let failure = CallFailure(setback)
        beginObject()
        key("kind")
        string(failure.kindText)
        key("message")
        string(failure.message)
        key("cause")
        string(setback.step.rawValue)
        if let status = failure.httpStatus {
            key("http_status")
            integer(Int64(status))
        }
        if let code = failure.providerCode {
            key("provider_code")
            string(code)
        }
        endObject()
    }
}
