import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `headers.get` where the platform has a say: which headers there are, and whether a token is among them.
extension RPCServer {
    /// Answers for an account whose platform has headers of its own; false: it has none, and the token's are all there are.
    func answerPlatformHeaders(
        _ call: Call, _ account: Account, route: String?
    ) throws(CallFailure) -> Bool {
        guard case .chatbase = account.definition.platform else { return false }
        try requireOpenStore()
        if let failure = account.session.standingFailure {
            throw CallFailure(failure, account: account.name)
        }
        broker.withDevice(of: account) { [unowned self] outcome in
            switch outcome {
            case .failure(let failure): call.fail(CallFailure(failure))
            case .success(let device):
                let held = account.session.held
                let headers = ChatbaseRequests.headers(device: device, stored: held?.credential)
                answer(call, account, headers, held)
            }
        }
        return true
    }

    /// Hands out a list of headers; one without a token is no hand-out.
    private func answer(
        _ call: Call, _ account: Account, _ headers: [(name: String, value: SecretBytes)],
        _ held: HeldCredential?
    ) {
        var writer = JSONWriter(capacity: 1024)
        writer.beginObject()
        writer.key("headers")
        writer.beginArray()
        for (name, value) in headers {
            writer.beginArray()
            writer.string(name)
            writer.string(value)
            writer.endArray()
        }
        writer.endArray()
        writer.key("generation")
        writer.integer(account.session.generation.number)
        writer.moment("expires_at", account.session.schedule?.expiresAt)
        writer.key("auth_state")
        writer.string(held == nil ? "anonymous" : "identified" as String)
        // Nobody but the server says that an identity is over: it is sent until then, and said to be stale (R94).
        if held != nil, !account.session.isUsable(at: now) || account.session.failures.last != nil {
            writer.key("stale")
            writer.bool(true)
        }
        writer.endObject()
        let result = writer.finish().finish()
        if held == nil {
            call.answer { writer in result.withSpan { writer.raw($0) } }
        } else {
            handOut(result, of: account, to: call)
        }
    }
}
