import Testing

/// The grants and the client authentication beyond RFC 6749.
@Suite struct `Identity provider stand-in, further grants` {
    let sandbox: RunningSandbox
    private static let grants = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
    private static let secret = "client_id=client&client_secret=secret"

    init() throws { sandbox = try RunningSandbox() }

    private func post(_ route: String, _ form: String) throws -> Wire {
        try sandbox.call("POST", "/idp/main/\(route)", body: form)
    }

    private func configure(_ settings: String) throws {
        _ = try sandbox.json("PUT", "/_sandbox/idp/main", body: settings)
    }

    /// A token that the customer backend signs, with claims of the test's choice, and the settings that verify it.
    private func assertion(_ claims: String) throws -> String {
        _ = try sandbox.json(
            "PUT", "/_sandbox/backend/signer",
            body: #"{"token_format":"signed_jwt","alg":"ES256","claims":\#(claims)}"#)
        return try #require(try sandbox.token("signer")["token"]?.text)
    }

    private func publicKey() throws -> String {
        _ = try assertion("{}")
        return try #require(try sandbox.json("GET", "/_sandbox/backend/signer/key")["public_key"]).compact
    }

    private func poll(_ code: String) throws -> Wire {
        try post("token", "grant_type=\(Self.grants)device_code&device_code=\(code)&\(Self.secret)")
    }

    @Test func `a device waits, is too hasty, and gets its tokens once`() throws {
        let device = try Tree(post("device_authorization", Self.secret + "&scope=openid").body)
        #expect(device["interval"] == .number("5"))
        let code = try #require(device["device_code"]?.text)
        #expect(try poll(code).problem == "authorization_pending")
        #expect(try poll(code).problem == "slow_down")
        // Ten seconds by now.
        _ = try sandbox.json("PUT", "/_sandbox/clock", body: #"{"offset_seconds":6}"#)
        #expect(try poll(code).problem == "slow_down")
        _ = try sandbox.json(
            "POST", "/_sandbox/idp/main/device",
            body: #"{"user_code":"\#(device["user_code"]?.text ?? "")","subject":"user-9"}"#)
        let answer = try Tree(poll(code).body)
        #expect(try Tree(claimsOf: #require(answer["id_token"]?.text))["sub"] == .text("user-9"))
        #expect(answer["refresh_token"]?.text != nil)
        #expect(try poll(code).problem == "invalid_grant")
    }

    @Test func `a device is refused, or nobody comes`() throws {
        let device = try Tree(post("device_authorization", Self.secret).body)
        let body = #"{"user_code":"\#(device["user_code"]?.text ?? "")","decision":"deny"}"#
        _ = try sandbox.json("POST", "/_sandbox/idp/main/device", body: body)
        #expect(try poll(device["device_code"]?.text ?? "").problem == "access_denied")
        #expect(
            try sandbox.json("POST", "/_sandbox/idp/main/device", body: body, status: 400)["error"]
                == .text("there is no such user code"))
        try configure(#"{"device_code_seconds":0}"#)
        let late = try Tree(post("device_authorization", Self.secret).body)
        #expect(try poll(late["device_code"]?.text ?? "").problem == "expired_token")
    }

    @Test func `a client proves itself with a signed assertion, once`() throws {
        try configure(
            #"{"issuer":"https://issuer.example","clients":[{"client_id":"app","alg":"ES256","public_key":\#(publicKey())}]}"#
        )
        let claims = #"{"iss":"app","sub":"app","aud":"https://issuer.example"}"#
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        let form = "grant_type=client_credentials&client_assertion_type=\(type)&client_assertion="
        let token = try assertion(claims)
        #expect(try post("token", form + token).status == 200)
        #expect(try post("token", form + token).problem == "invalid_client")
        for wrong in [
            #"{"iss":"app","sub":"app","aud":"https://else.example"}"#,
            #"{"iss":"app","sub":"x","aud":"https://issuer.example"}"#,
            #"{"iss":"app","sub":"app","aud":"https://issuer.example","exp":1}"#,
            #"{"iss":"app","sub":"app","aud":"https://issuer.example","jti":null}"#,
        ] {
            #expect(try post("token", form + assertion(wrong)).problem == "invalid_client", "\(wrong)")
        }
        // Whoever has a key does not get in by name alone.
        #expect(try post("token", "grant_type=client_credentials&client_id=app").problem == "invalid_client")
    }

    @Test func `an assertion of a trusted issuer is a grant`() throws {
        try configure(
            #"{"issuer":"https://issuer.example","assertion_issuers":[{"issuer":"https://hr.example","alg":"ES256","public_key":\#(publicKey())}]}"#
        )
        let form = "grant_type=\(Self.grants)jwt-bearer&\(Self.secret)&assertion="
        let claims = #"{"iss":"https://hr.example","sub":"user-3","aud":"https://issuer.example"}"#
        let answer = try Tree(post("token", form + assertion(claims)).body)
        #expect(answer.keys == ["access_token", "expires_in", "token_type"])
        let foreign = #"{"iss":"https://else.example","sub":"user-3","aud":"https://issuer.example"}"#
        #expect(try post("token", form + assertion(foreign)).problem == "invalid_grant")
        #expect(try post("token", form + "x").problem == "invalid_grant")
    }

    @Test func `a token that is good is exchanged for another`() throws {
        let granted = try sandbox.json("POST", "/_sandbox/idp/main/grant", body: #"{"subject":"user-5"}"#)
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
        let form =
            "grant_type=\(Self.grants)token-exchange&\(Self.secret)&subject_token_type=\(type)&subject_token="
        let answer = try Tree(post("token", form + (granted["access_token"]?.text ?? "")).body)
        #expect(answer["issued_token_type"] == .text("urn:ietf:params:oauth:token-type:access_token"))
        let token = answer["access_token"]?.text ?? ""
        #expect(try Tree(post("introspect", "token=\(token)&\(Self.secret)").body)["sub"] == .text("user-5"))
        #expect(try post("token", form + "x").problem == "invalid_request")
    }
}
