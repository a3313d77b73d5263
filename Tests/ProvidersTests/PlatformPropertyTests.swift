import CredentialCore
import Providers
import Secrets
import TestSupport
import Testing

@Suite struct `Whatever platforms and stores say` {
    private static let seeds = [
        #"{"data":{"ok":true,"userId":"user-42"}}"#,
        #"{"error":{"code":"AUTH_INVALID_JWT","message":"no","details":{"token":"Required"}}}"#,
        #"{"accessToken":"a.b.c","refreshToken":"r","issuedAt":"2026-01-01T00:00:00.000Z","expiresAt":1769817600}"#,
        #"{"status":"error","code":400312,"message":"User is global banned."}"#,
        #"{"state":"established","kind":"default","user_id":"u","display_name":"Ada","issued_at":5,"refresh_token":"r"}"#,
        #"{"state":"terminated","kind":"access_token","user_id":"u","termination_code":"400312"}"#,
        #"{"user_id":"u-1","conversation_id":"c-1"}"#, #"{"auth_token":"t","unable":false}"#,
        "eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoidSIsInVzZXJJZCI6InUiLCJleHAiOjF9.c2ln",
    ].map { Array($0.utf8) }

    private func isPrintable(_ code: String?) -> Bool {
        code?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ?? true
    }

    private func isPlain(_ text: String?) -> Bool {
        text?.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ?? true
    }

    private func check(_ body: SecretBytes, _ network: SocialPlusDefinition) {
        for (status, type) in [
            (200, nil), (401, "application/json"), (403, nil), (404, nil), (503, "text/html"),
        ]
            as [(Int, String?)]
        {
            let response = FetchResponse(
                status: status, retryAfter: nil, date: nil, contentType: type, body: body)
            switch Result(catching: { () throws(RefreshFailure) in try ChatbaseAnswer.read(response) }) {
            case .success(let acceptance): #expect(status == 200 && isPlain(acceptance.userID))
            case .failure(let failure):
                #expect(isPrintable(failure.providerCode) && failure.httpStatus == status)
            }
            for purpose in SocialPlusAnswer.Purpose.allCases {
                let result = Result { () throws(RefreshFailure) in
                    try SocialPlusAnswer.session(response, purpose, of: network)
                }
                switch result {
                case .success(let session): #expect(status == 200 && !session.credential.bearer.isEmpty)
                case .failure(let failure):
                    #expect(isPrintable(failure.providerCode))
                    if failure.kind == .terminated {
                        #expect(purpose != .login && status >= 400 && failure.providerCode != nil)
                    }
                }
                _ = try? SocialPlusAnswer.verified(response, purpose, of: network)
            }
            _ = try? SocialPlusAnswer.revoked(response, of: network)
        }
        if let identity = ChatbaseIdentity(json: body) {
            #expect(ChatbaseIdentity(json: identity.json()) == identity)
        }
        if let record = SocialPlusRecord(json: body) {
            #expect(shown(SocialPlusRecord(json: record.json())?.json()) == shown(record.json()))
        }
        for kind in SocialPlusKind.allCases { _ = SocialPlusOffer.read(body, for: kind) }
        _ = ChatbaseClaims.warnings(body, now: WallTime(seconds: 5))
        #expect(isPlain(ChatbaseClaims.user(of: body)))
        if let user = try? SocialPlusAccessToken.user(of: body) { #expect(isPlain(user.id)) }
    }

    @Test func `R184: nothing from outside traps, and what is kept of it can be printed`() throws {
        var random = SeededGenerator.announced(for: "whatever platforms say")
        let network = try network()
        for _ in 0..<400 {
            guard var bytes = Self.seeds.randomElement(using: &random) else { continue }
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes.insert(UInt8.random(in: 0x20...0x7E, using: &random), at: at)
                case 2:
                    bytes.removeSubrange(
                        at..<min(bytes.count, at + 1 + Int.random(in: 0..<3, using: &random)))
                default:
                    if let other = Self.seeds.randomElement(using: &random) {
                        bytes.insert(
                            contentsOf: other.prefix(Int.random(in: 0..<other.count, using: &random)), at: at)
                    }
                }
                if bytes.isEmpty { bytes = [0x7B] }
            }
            check(SecretBytes(copying: bytes.span), network)
        }
    }
}
