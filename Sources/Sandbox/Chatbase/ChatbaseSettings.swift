import CredentialCore
import JSON

/// How one Chatbase agent answers.
struct ChatbaseSettings: Sendable {
    /// The only agent that is known.
    var agentID = "agent-1"
    /// The agent's identity verification secret, for HS256.
    var identitySecret = "identity-secret"
    /// Whether identity verification is set up; otherwise no token is good.
    var isVerifying = true
    /// Whether the agent may be spoken to by the SDK; otherwise it is unknown.
    var isChannelEnabled = true
    /// Milliseconds from a sign-in until the device's conversations are the user's.
    var mergeDelay: Int64 = 1000

    init() {}

    init(_ source: ControlObject) throws(ControlFailure) {
        var object = source
        if let text = try object.text("agent_id") {
            guard Owner.isName(text) else { throw .invalidName(text) }
            agentID = text
        }
        identitySecret = try object.text("identity_secret") ?? identitySecret
        isVerifying = try object.bool("identity_verification") ?? isVerifying
        isChannelEnabled = try object.bool("channel_enabled") ?? isChannelEnabled
        mergeDelay = try object.integer("merge_delay_milliseconds", 0...86_400_000) ?? mergeDelay
        try object.finish()
        // Empty, or another kind of key in disguise.
        guard (try? key()) != nil else { throw .unusableKey(key: "identity_secret") }
    }

    /// What signs tokens.
    func key() throws(ControlFailure) -> SigningKey { try SigningKey(identitySecret, for: .hs256, id: nil) }

    /// A token that the secret has signed and that is valid at `now`, Unix milliseconds; nil for any other.
    func believed(_ text: String, _ now: Int64) -> ReceivedToken? {
        guard isVerifying, let token = ReceivedToken(text), token.isSigned(by: identitySecret, .hs256),
            token.isTimely(now)
        else { return nil }
        return token
    }

    /// Writes the settings as they would be sent to set them.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("agent_id")
        json.string(agentID)
        json.key("identity_secret")
        json.string(identitySecret)
        json.key("identity_verification")
        json.bool(isVerifying)
        json.key("channel_enabled")
        json.bool(isChannelEnabled)
        json.key("merge_delay_milliseconds")
        json.integer(mergeDelay)
        json.endObject()
    }
}
