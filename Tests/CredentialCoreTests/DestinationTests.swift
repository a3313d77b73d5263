import CredentialCore
import Testing

private func account(
    _ platform: PlatformDefinition?, provider: AccountDefinition.Provider = .kindly,
    source: SourceDefinition? = nil
) throws -> AccountDefinition {
    AccountDefinition(
        name: try #require(AccountName("x")), provider: provider, platform: platform, source: source)
}

private func kindly(
    bot: String = "b", market: String = "en", base: String = "https://k.example", bind: String = "auth/chat"
) throws -> PlatformDefinition {
    .kindly(KindlyDefinition(botKey: bot, market: market, baseURL: try HTTPURL(base), bindPath: bind))
}

private func socialPlus(key: String = "k", user: String? = nil) throws -> PlatformDefinition {
    .socialPlus(
        SocialPlusDefinition(
            apiKey: .secret(try #require(SecretName(key))), baseURL: try HTTPURL("https://s.example"),
            userID: user))
}

@Suite struct `Destinations of platforms` {
    @Test func `what says where a credential goes, for which client and user, makes another destination`()
        throws
    {
        let same = try account(kindly()).destination
        #expect(try account(kindly(market: "de")).destination == same)
        for other in [
            try kindly(bot: "c"), try kindly(base: "https://l.example"), try kindly(bind: "auth/other"),
        ] {
            #expect(try account(other).destination != same)
        }
        let network = try account(socialPlus(), provider: .socialPlus).destination
        #expect(try account(socialPlus(key: "l"), provider: .socialPlus).destination != network)
        #expect(try account(socialPlus(user: "u"), provider: .socialPlus).destination != network)
        #expect(
            network.text
                == "provider=socialplus;base=17:https://s.example;sessions=15:api/v4/sessions;verify=15:api/v3/sessions;revoke=15:api/v4/sessions;key=8:secret:k"
        )
    }

    @Test func `an OAuth source adds its servers, and accounts without a platform keep what they had`() throws
    {
        let oauth = OAuthSource(
            endpoints: .init(issuer: "https://i.example"), flow: .clientCredentials, clientID: "c",
            authentication: .none)
        let both = try account(kindly(), source: .oauth(oauth)).destination
        #expect(both.text == (try account(kindly()).destination.text) + ";" + oauth.destination.text)
        #expect(try account(nil, provider: .oauth, source: .oauth(oauth)).destination == oauth.destination)
        #expect(try account(nil, provider: .generic).destination == Destination("provider=generic"))
    }
}
