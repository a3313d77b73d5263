import CredentialCore
import Providers
import Secrets

/// What holds for every answer of a platform or a handler, and for every stored form of what they said.
package enum PlatformProperty {
    /// A way in which bytes showed their reader to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case expiryOutside
        case textIsUnfit
        case tokenIsUnusable
        case storedFormIsNotStable
    }

    private static let sentAt = WallTime(seconds: 1_800_000_000)
    private static let statuses = [200, 400, 401, 403, 503]

    /// Takes `bytes` for the body of whatever platforms and handlers answer, and for whatever is stored of it.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        let body = SecretBytes(copying: bytes)
        for status in statuses {
            let response = FetchResponse(
                status: status, retryAfter: nil, date: nil, contentType: nil, body: body)
            try checkKindly(response)
            try checkChatbase(response)
            try checkSocialPlus(response)
            if let text = ErrorText.read(response) { try check(text, limit: ErrorText.limit) }
        }
        try checkHandler(body)
        if let chat = KindlyChat(json: body) { try check(chat) }
        if let identity = ChatbaseIdentity(json: body) { try check(identity) }
        if let record = SocialPlusRecord(json: body) { try check(record) }
    }

    // MARK: Answers

    private static func checkKindly(_ response: FetchResponse) throws(Violation) {
        for field in [nil, "expires_at", "session.until.at"] {
            let answer = try outcome { () throws(RefreshFailure) in
                try BindAnswer.read(response, expiryField: field)
            }
            if let moment = answer?.expiry.moment { try check(moment) }
        }
        guard let chat = KindlyChat(id: "chat") else { return }
        let connected = try outcome { () throws(RefreshFailure) in
            try KindlyConnectAnswer.read(response, chat: chat)
        }
        if let connected { try check(connected) }
    }

    private static func checkChatbase(_ response: FetchResponse) throws(Violation) {
        let acceptance = try outcome { () throws(RefreshFailure) in try ChatbaseAnswer.read(response) }
        guard let acceptance else { return }
        var identity = ChatbaseIdentity()
        identity.identified(on: DeviceID(high: 1, low: 2), userID: acceptance.userID)
        try check(identity)
    }

    private static func checkSocialPlus(_ response: FetchResponse) throws(Violation) {
        guard let key = SecretName("key"), let base = try? HTTPURL("https://platform.example") else { return }
        let network = SocialPlusDefinition(apiKey: .secret(key), baseURL: base)
        for purpose in SocialPlusAnswer.Purpose.allCases {
            let session = try outcome { () throws(RefreshFailure) in
                try SocialPlusAnswer.session(response, purpose, of: network)
            }
            if let session {
                try check(session.credential.bearer)
                if let moment = session.issuedAt { try check(moment) }
                try check(session.expiries)
            }
            _ = try outcome { () throws(RefreshFailure) in
                try SocialPlusAnswer.verified(response, purpose, of: network)
            }
        }
        _ = try outcome { () throws(RefreshFailure) in try SocialPlusAnswer.revoked(response, of: network) }
    }

    private static func checkHandler(_ body: SecretBytes) throws(Violation) {
        let reading = try outcome { () throws(RefreshFailure) in
            try HandlerAnswer.credential(body, sentAt: sentAt)
        }
        if let reading {
            try check(reading.fresh.credential.bearer)
            try check(reading.fresh.expiries)
        }
        for kind in [SocialPlusKind.default, .accessToken] {
            if case .accessToken(let credential) = SocialPlusOffer.read(body, for: kind) {
                try check(credential.bearer)
            }
        }
        if let user = try? SocialPlusAccessToken.user(of: body) { try check(user.id, limit: 256) }
    }

    // MARK: What is stored of them

    private static func check(_ chat: KindlyChat) throws(Violation) {
        let form = chat.json()
        guard let again = KindlyChat(json: form), again.json().isEqual(to: form) else {
            throw .storedFormIsNotStable
        }
    }

    private static func check(_ identity: ChatbaseIdentity) throws(Violation) {
        guard ChatbaseIdentity(json: identity.json()) == identity else { throw .storedFormIsNotStable }
    }

    private static func check(_ record: SocialPlusRecord) throws(Violation) {
        let form = record.json()
        guard let again = SocialPlusRecord(json: form), again.json().isEqual(to: form) else {
            throw .storedFormIsNotStable
        }
    }

    // MARK: Parts

    /// What was read; nil for a failure, whose code must be fit to be printed.
    private static func outcome<Value>(
        _ read: () throws(RefreshFailure) -> Value
    ) throws(Violation) -> Value? {
        do throws(RefreshFailure) {
            return try read()
        } catch {
            if let code = error.providerCode { try check(code, limit: 64) }
            return nil
        }
    }

    private static func check(_ text: String, limit: Int) throws(Violation) {
        // Control characters steer a terminal; of those beyond ASCII the two bytes below 0xA0 do.
        let isFit = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
        guard isFit, (1...limit).contains(text.utf8.count) else { throw .textIsUnfit }
    }

    private static func check(_ expiries: Expiries) throws(Violation) {
        for expiry in [expiries.backend, expiries.hint, expiries.exp] {
            if let expiry { try check(expiry) }
        }
    }

    private static func check(_ moment: WallTime) throws(Violation) {
        // Nothing is later than the year 9999: such a number is no date.
        guard moment.seconds <= 253_402_300_799 else { throw .expiryOutside }
    }

    private static func check(_ token: SecretBytes) throws(Violation) {
        let isFit = token.withSpan { bytes in
            guard (1...Credential.tokenLimit).contains(bytes.count) else { return false }
            for index in 0..<bytes.count where !(0x20...0x7E).contains(bytes[index]) { return false }
            return true
        }
        guard isFit else { throw .tokenIsUnusable }
    }
}
