import CredentialCore
import Secrets

/// Who sent a form: by Basic, by fields, by an assertion, or by name alone (RFC 6749 §2.3, RFC 7523 §2.2).
struct ClientAuthentication {
    enum Outcome: Sendable {
        case client(ProviderSettings.Client)
        /// `invalid_client`; a challenge is owed to who tried `Authorization` (RFC 6749 §5.2).
        case nobody(owesChallenge: Bool)
        /// More than one way at once, which no client may use.
        case ambiguous
    }

    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    let issuer: String
    /// The address of the endpoint, which an assertion may name in place of the issuer.
    let endpoint: String
    let now: Int64

    func client(_ request: Request, _ form: [Request.Pair], _ state: inout ProviderState) -> Outcome {
        let field: (String) -> String? = { name in form.first { $0.name == name }?.value }
        let basic = basicCredentials(request)
        let assertion = field("client_assertion")
        let ways = [basic != nil, field("client_secret") != nil, assertion != nil]
        guard ways.filter(\.self).count <= 1 else { return .ambiguous }
        let nobody = Outcome.nobody(owesChallenge: basic != nil)
        guard let assertion else {
            guard let id = basic?.name ?? field("client_id"),
                let client = state.settings.client(id, basic?.value ?? field("client_secret"))
            else { return nobody }
            return .client(client)
        }
        guard field("client_assertion_type") == Self.assertionType, let token = ReceivedToken(assertion),
            let id = token.text("iss"), token.text("sub") == id, field("client_id") ?? id == id,
            let client = state.settings.clients.first(where: { $0.id == id }), let key = client.key,
            token.isSigned(by: key.text, key.algorithm), isMeantForUs(token), token.instant("exp") != nil,
            token.isTimely(now), let unique = token.text("jti"), state.isFirst(unique)
        else { return nobody }
        return .client(client)
    }

    /// Whether `aud` of an assertion names this provider (RFC 7523 §3).
    func isMeantForUs(_ token: ReceivedToken) -> Bool {
        let names: [ControlValue]
        switch token.claims[path: "aud"] {
        case .array(let elements)?: names = elements
        case let value?: names = [value]
        case nil: names = []
        }
        return names.contains { value in
            if case .text(let text) = value { return text == issuer || text == endpoint }
            return false
        }
    }

    // Both halves are form-encoded before they are joined (RFC 6749 §2.3.1).
    private func basicCredentials(_ request: Request) -> Request.Pair? {
        guard let value = request.header("Authorization"), value.prefix(6).lowercased() == "basic " else {
            return nil
        }
        let text = String(
            value.dropFirst(6).filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        guard let decoded = Base64URL.decode(Array(text.utf8).span) else { return nil }
        let halves = decoded.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        return (Request.formDecoded(halves[0]), Request.formDecoded(halves[1]))
    }
}
