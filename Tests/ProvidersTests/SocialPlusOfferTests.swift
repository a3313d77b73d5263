import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `What handlers of social.plus give` {
    private func words(_ offer: SocialPlusOffer) -> String {
        switch offer {
        case .authToken(let token): "auth token \(shown(token) ?? "-")"
        case .bare: "bare"
        case .accessToken(let token): "access token \(shown(token.accessToken) ?? "-")"
        case .unable: "unable"
        case .failed(let failure): failure.kind.rawValue
        }
    }

    @Test(arguments: [
        (#"{"auth_token":"t"}"#, "auth token t", "malformed"),
        (#"{"authToken":"t","more":1}"#, "auth token t", "malformed"),
        (#"{"access_token":"a"}"#, "malformed", "access token a"),
        (#"{"accessToken":"a"}"#, "malformed", "access token a"),
        (#"{"unable":true}"#, "unable", "unable"), (#"{"unable":true,"auth_token":"t"}"#, "unable", "unable"),
        (#"{"unable":false,"auth_token":"t","access_token":"a"}"#, "auth token t", "access token a"),
        ("{}", "bare", "empty"), (#"{"auth_token":null}"#, "bare", "malformed"),
        (#"{"auth_token":"","access_token":""}"#, "empty", "empty"),
        (#"{"auth_token":5,"access_token":5}"#, "malformed", "malformed"),
        (#"{"unable":"yes"}"#, "malformed", "malformed"), ("null", "malformed", "malformed"),
        (#""t""#, "malformed", "malformed"), ("", "malformed", "malformed"),
        (#"{"access_token":"a\n"}"#, "malformed", "malformed"),
    ])
    func `R186, R187, R188, R192: a result is read for the kind of session that asked`(
        _ result: String, _ first: String, _ second: String
    ) {
        #expect(words(SocialPlusOffer.read(secret(result), for: .default)) == first)
        #expect(words(SocialPlusOffer.read(secret(result), for: .accessToken)) == second)
    }

    @Test func `R187: an error is as good as being unable`() {
        #expect(words(SocialPlusOffer(HandlerFailure.rejected)) == "unable")
        #expect(words(SocialPlusOffer(HandlerFailure.absent)) == "sourceUnavailable")
    }

    @Test func `R159: what a source brought is the token that was asked for`() throws {
        for credential in [
            try Credential(idToken: secret("t"), accessToken: nil),
            try Credential(idToken: nil, accessToken: secret("t")),
        ] {
            #expect(words(SocialPlusOffer(credential, for: .default)) == "auth token t")
            #expect(words(SocialPlusOffer(credential, for: .accessToken)) == "access token t")
        }
    }
}
