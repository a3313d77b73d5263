package import JSON

/// Platforms as JSON, in the words in which they are read.
extension AccountDefinitionJSON {
    /// Writes the keys of a platform as one object, the member `settings` of `account.add`, where there are any.
    ///
    /// Secrets are references, so nothing in it is secret.
    package static func writeSettings(_ account: AccountDefinition, to writer: inout JSONWriter) {
        guard account.platform != nil || !account.requestHeaders.isEmpty else { return }
        writer.key("settings")
        writer.beginObject()
        switch account.platform {
        case .kindly(let platform): write(platform, &writer)
        case .chatbase(let platform): write(platform, &writer)
        case .socialPlus(let platform): write(platform, &writer)
        case .described(let bind):
            writer.key("bind")
            writer.beginObject()
            write(bind, &writer)
            writer.endObject()
        case nil: break
        }
        write(account.requestHeaders, to: &writer)
        writer.endObject()
    }

    private static func write(_ platform: KindlyDefinition, _ writer: inout JSONWriter) {
        member("bot_key", platform.botKey, &writer)
        member("market", platform.market, &writer)
        member("language", platform.language, &writer)
        member("strategy", platform.strategy?.rawValue, &writer)
        member("connect", platform.connecting.rawValue, &writer)
        member("base_url", platform.baseURL.text, &writer)
        member("connect_path", platform.connectPath, &writer)
        member("bind_path", platform.bindPath, &writer)
        member("invalidate_path", platform.invalidatePath, &writer)
        member("client_name", platform.clientName, &writer)
        member("client_version", platform.clientVersion, &writer)
        member("expiry_field", platform.expiryField, &writer)
        member("default_issuer", platform.defaultIssuer, &writer)
        member("expected_issuer", platform.expectedIssuer, &writer)
        flag("strict_at_hash", platform.isAtHashStrict, &writer)
        write(platform.transport, &writer)
    }

    private static func write(_ platform: ChatbaseDefinition, _ writer: inout JSONWriter) {
        member("agent_id", platform.agentID, &writer)
        member("base_url", platform.baseURL.text, &writer)
        member("device", platform.device, &writer)
        member("user_agent", platform.userAgent, &writer)
        flag("identify_on_start", platform.identifiesOnStart, &writer)
        flag("trust_verify_user_id", platform.trustsVerifiedUserID, &writer)
        write(platform.transport, &writer)
    }

    private static func write(_ platform: SocialPlusDefinition, _ writer: inout JSONWriter) {
        writer.key("api_key")
        write(platform.apiKey, to: &writer)
        if let region = platform.region {
            member("region", region.rawValue, &writer)
        } else {
            member("base_url", platform.baseURL.text, &writer)
        }
        member("user_id", platform.userID, &writer)
        member("display_name", platform.displayName, &writer)
        flag("secure_mode", platform.isSecureMode, &writer)
        flag("login_on_start", platform.logsInOnStart, &writer)
        flag("verify_access_token", platform.verifiesAccessToken, &writer)
        seconds("renewal_pause", platform.renewalPause, &writer)
        seconds("login_timeout", platform.loginTimeout, &writer)
        writer.key("terminate_codes")
        writer.beginArray()
        for code in platform.terminatingCodes { writer.integer(code) }
        writer.endArray()
        flag("terminate_on_user_not_found", platform.terminatesOnUserNotFound, &writer)
        member("sessions_path", platform.sessionsPath, &writer)
        member("verify_path", platform.verifyPath, &writer)
        member("revoke_path", platform.revokePath, &writer)
        write(platform.transport, &writer)
    }

    private static func write(_ bind: BindDefinition, _ writer: inout JSONWriter) {
        member("url", bind.url.text, &writer)
        member("method", bind.method.rawValue, &writer)
        write(bind.headers, to: &writer)
        member("body", bind.bodyTemplate, &writer)
        member("content_type", bind.contentType, &writer)
        member("expiry_field", bind.expiryField, &writer)
        if bind.refusals != BindDefinition.usualRefusals {
            writer.key("refused_statuses")
            writer.beginArray()
            for status in bind.refusals { writer.integer(Int64(status)) }
            writer.endArray()
        }
        member("order", bind.order.rawValue, &writer)
        write(bind.transport, &writer)
    }

    private static func write(_ transport: PlatformTransport, _ writer: inout JSONWriter) {
        member("ca_file", transport.caFile, &writer)
        member("proxy", transport.proxy, &writer)
        seconds("timeout", transport.timeout, &writer)
    }

    private static func flag(_ name: StaticString, _ value: Bool, _ writer: inout JSONWriter) {
        writer.key(name)
        writer.bool(value)
    }
}
