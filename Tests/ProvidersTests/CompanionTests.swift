import CredentialCore
import Providers
import Secrets
import Testing

/// What is known of an access token's hash, without a hash function: the value is one of a table.
private let accessToken = "access-token-abc123"
private let halves: [CompanionCheck.AccessTokenHash.Digest: String] = [
    .sha256: "UmVcZ6GYNYUw6lgGuNgu2Q", .sha384: "n5T_NlzMUxYwFBG6j6CjTg7Fuon8bz4O",
    .sha512: "tDEsSlWNzCPs4qS1aB1K2Pw9q_wMtficdyNo5aXxlqE",
]

private func half(_ digest: CompanionCheck.AccessTokenHash.Digest) throws -> SecretBytes {
    let text = try #require(halves[digest])
    return try #require(secret(text).withSpan { Base64URL.decode($0) })
}

private func check(_ idToken: SecretBytes, _ access: String? = accessToken) throws -> CompanionCheck {
    CompanionCheck.of(try Credential(idToken: idToken, accessToken: access.map(secret)))
}

private func question(_ check: CompanionCheck) -> CompanionCheck.AccessTokenHash? {
    if case .undecided(let hash) = check { hash } else { nil }
}

@Suite struct `Pairs of tokens` {
    @Test(arguments: ["opaque", "a.b.c", "eyJhbGciOiJSUzI1NiJ9..", "a.b.c.d.e"])
    func `R16: an opaque ID token beside another access token is seen before any network`(_ token: String)
        throws
    {
        guard case .idTokenIsOpaque = try check(secret(token)) else {
            Issue.record("not seen")
            return
        }
    }

    @Test func `R13, R14: without a companion there is nothing to check`() throws {
        for credential in [
            try Credential(idToken: secret("opaque"), accessToken: nil),
            try Credential(idToken: nil, accessToken: secret("opaque")),
            try Credential(idToken: secret("same"), accessToken: secret("same")),
        ] {
            guard case .passed = CompanionCheck.of(credential) else {
                Issue.record("checked")
                return
            }
        }
    }

    @Test(
        arguments: [
            ("RS256", .sha256), ("ES256", .sha256), ("PS256", .sha256), ("HS256", .sha256), ("ES256K", nil),
            ("RS384", .sha384), ("ES384", .sha384), ("RS512", .sha512), ("EdDSA", .sha512),
            ("Ed25519", .sha512),
        ] as [(String, CompanionCheck.AccessTokenHash.Digest?)])
    func `R17: at_hash is compared with the hash that the algorithm of the ID token says`(
        _ algorithm: String, _ digest: CompanionCheck.AccessTokenHash.Digest?
    ) throws {
        for (other, text) in halves {
            let token = jwt(#"{"at_hash":"\#(text)"}"#, header: #"{"alg":"\#(algorithm)"}"#)
            let hash = question(try check(token))
            #expect(hash?.digest == digest)
            #expect(shown(hash?.accessToken) == (digest == nil ? nil : accessToken))
            if let hash, let digest { #expect(hash.isMatched(by: try half(digest)) == (digest == other)) }
        }
    }

    @Test(arguments: [
        #"{"at_hash":7}"#, #"{"at_hash":""}"#, #"{"at_hash":"a+/="}"#, #"{"at_hash":"a\u0062"}"#,
    ])
    func `R17: an at_hash that could never match does not`(_ payload: String) throws {
        let hash = try #require(question(try check(jwt(payload))))
        #expect(!hash.isMatched(by: try half(.sha256)))
        #expect(!hash.isMatched(by: secret("")))
    }

    @Test(arguments: ["{}", #"{"at_hash":null}"#])
    func `an ID token that says nothing of its access token passes`(_ payload: String) throws {
        guard case .passed = try check(jwt(payload)) else {
            Issue.record("checked")
            return
        }
    }
}
