import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

@Suite struct `Sources` {
    private func answer(_ source: SourceDefinition, _ prepare: (Stage) -> Void = { _ in }) throws -> String {
        let stage = try Stage(accounts: [AccountDefinition(name: Definitions.name("a"), source: source)])
        prepare(stage)
        let client = try #require(stage.connect())
        return stage.call(client, "token.get", #"{"account":"a","wait":1}"#)
    }

    private let file = SecretReference.file(path: "/token")
    private let credential = SecretReference.credential(name: "token")

    @Test func `a static source gives the content of its files`() throws {
        let source = SourceDefinition.static(
            StaticSource(
                idToken: file, accessToken: credential, issuer: "me",
                expiresAt: WallTime(seconds: 1_767_229_200)))
        let text = try answer(source) {
            $0.files.contents = [file: SecretBytes("id\n"), credential: SecretBytes("access\r\n")]
        }
        #expect(
            text.contains(
                #""bearer_token":"id","token_type":"Bearer","companion_access_token":"access","issuer":"me","expires_at":1767229200"#
            ))
    }

    @Test func `a static access token alone is the bearer`() throws {
        let text = try answer(.static(StaticSource(accessToken: file))) {
            $0.files.contents = [file: SecretBytes("access")]
        }
        #expect(text.contains(#""bearer_token":"access","token_type":"Bearer","expires_at":null"#))
    }

    @Test func `a file is a token or an object`() throws {
        let token = try answer(.file(FileSource(file: file, format: .token))) {
            $0.files.contents = [file: SecretBytes("abc\n")]
        }
        #expect(token.contains(#""bearer_token":"abc""#))
        let object = try answer(.file(FileSource(file: file, format: .json(FieldMap())))) {
            $0.files.contents = [file: SecretBytes(#"{"accessToken":"abc","expires_at":1767225660}"#)]
        }
        #expect(object.contains(#""bearer_token":"abc","token_type":"Bearer","expires_at":1767225660"#))
        // Nobody knows when it was written, so nobody knows from when that would count.
        let relative = try answer(.file(FileSource(file: file, format: .json(FieldMap())))) {
            $0.files.contents = [file: SecretBytes(#"{"accessToken":"abc","expires_in":60}"#)]
        }
        #expect(relative.contains(#""bearer_token":"abc","token_type":"Bearer","expires_at":null"#))
        let mapped = try answer(.file(FileSource(file: file, format: .json(FieldMap(token: "a.b"))))) {
            $0.files.contents = [file: SecretBytes(#"{"a":{"b":"abc"},"token":"wrong"}"#)]
        }
        #expect(mapped.contains(#""bearer_token":"abc""#))
    }

    @Test(arguments: [
        (FileFailure.missing(index: 0), ": /token is missing"),
        (
            .unsafe(index: 0),
            ": /token is open to others, a link, or somebody else's; chmod 600 closes it"
        ),
        (.tooLarge(index: 0), ": /token is too large"),
        (.unreadable(index: 0, code: 5), ": /token cannot be read"),
    ])
    func `a file that is of no use is named as the reason`(failure: FileFailure, words: String) throws {
        let text = try answer(.file(FileSource(file: file, format: .token))) { $0.files.failure = failure }
        #expect(
            text
                == #"{"jsonrpc":"2.0","id":1,"error":{"code":301,"message":"the source could not be asked\#(words)","#
                + #""data":{"kind":"upstream_error","retryable":true,"retry_after_seconds":1,"account":"a"}}}"#
        )
    }

    @Test(arguments: ["", "\n", "\r\n"] as [StaticString])
    func `an empty file is no token`(content: StaticString) throws {
        let text = try answer(.file(FileSource(file: file, format: .token))) {
            $0.files.contents = [file: SecretBytes(content)]
        }
        #expect(text.contains(#""kind":"credential_empty""#))
    }

    @Test func `a request has the secrets of its files in its headers`() throws {
        let stage = try Stage(
            accounts: [
                Definitions.http(
                    "a",
                    headers: [
                        HTTPSource.Header(name: "X-Key", value: .secret(file, prefix: "Key ")),
                        HTTPSource.Header(name: "X-Plain", value: .literal("p")),
                    ])
            ])
        stage.files.contents = [file: SecretBytes("k\n")]
        stage.advance(.zero)
        let request = try #require(stage.fetcher.out.first)
        #expect(request.headers.map(\.name) == ["X-Key", "X-Plain", "Content-Type", "Accept"])
        #expect(request.headers[0].value.isEqual(to: SecretBytes("Key k")))
        #expect(request.body?.isEqual(to: SecretBytes(#"{"account":"a","reason":"initial"}"#)) == true)
        #expect(request.partition == "a")
    }

    @Test func `an answer is reckoned from when the request was sent, on the clock as it is set now`() throws
    {
        let stage = try Stage(accounts: [Definitions.http("a")])
        stage.advance(.zero)
        stage.advance(.seconds(5))
        stage.clock.now.wall = stage.clock.now.wall - .seconds(1000)
        stage.fetcher.answer(#"{"token":"t","expires_in":600}"#)
        stage.run()
        let account = try #require(stage.account("a"))
        #expect(account.session.schedule?.expiresAt == stage.clock.now.wall + .seconds(595))
    }

    @Test func `one failing account does not open the breaker of its origin`() throws {
        let stage = try Stage(
            accounts: [Definitions.http("bad", host: "one"), Definitions.http("good", host: "one")])
        stage.fetcher.backend = { $0.partition == "bad" ? .success(Self.refusal) : .success(Self.token) }
        stage.advance(.seconds(24 * 3600))
        #expect(stage.broker.stateCounts() == [.signInNeeded: 1, .fresh: 1])
        // Three refusals, then one an hour.
        #expect((25...28).contains(stage.fetcher.all.count { $0.partition == "bad" }))
        #expect(stage.fetcher.all.count { $0.partition == "good" } == 25)
    }

    private static let refusal = FetchResponse(
        status: 401, retryAfter: nil, date: nil, contentType: nil, body: SecretBytes(""))
    private static let token = FetchResponse(
        status: 200, retryAfter: nil, date: nil, contentType: nil,
        body: SecretBytes(#"{"token":"t","expires_in":3600}"#))
}
