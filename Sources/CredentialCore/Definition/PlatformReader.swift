/// What an account says of its platform.
///
/// A file has the platform's keys beside those that every account has; `account.add` and the store have them in a table of their own,
/// `settings`, so that a method has a fixed list of parameters.
extension AccountReader {
    /// The platform, and what requests to it carry where its description says that itself.
    typealias Settings = (platform: PlatformDefinition?, headers: [HTTPSource.Header])

    func readSettings(_ provider: AccountDefinition.Provider, _ table: inout DefinitionTable) -> Settings {
        if writer == .configuration { return readSettings(of: provider, &table) }
        let settings: DefinitionTable?
        if let entry = table.entry("settings") {
            settings = DefinitionTable(entry.node, path: entry.path, faults: table.faults)
        } else {
            // Without it, what is missing in it is named.
            settings = DefinitionTable(
                DefinitionNode(value: .table([]), position: table.position), path: table.path(of: "settings"),
                faults: table.faults)
        }
        guard var settings else { return (nil, []) }
        let read = readSettings(of: provider, &settings)
        settings.finish()
        return read
    }

    private func readSettings(
        of provider: AccountDefinition.Provider, _ table: inout DefinitionTable
    ) -> Settings {
        switch provider {
        case .kindly: (kindly(&table).map { .kindly($0) }, [])
        case .chatbase: (chatbase(&table).map { .chatbase($0) }, [])
        case .socialPlus: (socialPlus(&table).map { .socialPlus($0) }, [])
        case .generic, .oauth:
            (
                table.table("bind").flatMap(readBind).map { .described($0) },
                table.table("headers").map(readRequestHeaders) ?? []
            )
        }
    }

    // MARK: Kindly

    private func kindly(_ table: inout DefinitionTable) -> KindlyDefinition? {
        let botKey = required("bot_key", &table, isValid: Self.isWord)
        let market = required("market", &table, isValid: Self.isWord)
        let language = text("language", &table, isValid: Self.isWord)
        let strategy = table.choice("strategy", KindlyDefinition.Strategy.self)
        let connecting = table.choice("connect", KindlyDefinition.Connecting.self)
        let base = readBase("base_url", usual: "https://bot.kindly.ai/chatbubble/v2", &table)
        let connectPath = route("connect_path", &table)
        let bindPath = route("bind_path", &table)
        let invalidatePath = route("invalidate_path", &table)
        let clientName = text("client_name", &table, isValid: Self.isWord)
        let clientVersion = text("client_version", &table, isValid: Self.isWord)
        let expiryField = text("expiry_field", &table, isValid: TextRules.isMemberPath)
        let defaultIssuer = text("default_issuer", &table, isValid: Self.isIssuer)
        let expectedIssuer = text("expected_issuer", &table, isValid: Self.isIssuer)
        let isStrict = table.boolean("strict_at_hash")
        let transport = readTransport(&table)
        guard let botKey, let market, let base else { return nil }
        return KindlyDefinition(
            botKey: botKey, market: market, language: language, strategy: strategy,
            connecting: connecting ?? .broker, baseURL: base, connectPath: connectPath ?? "connect",
            bindPath: bindPath ?? "auth/chat", invalidatePath: invalidatePath ?? "auth/chat/invalidate",
            clientName: clientName ?? "linux", clientVersion: clientVersion ?? "3.0.10",
            expiryField: expiryField ?? "expires_at", defaultIssuer: defaultIssuer,
            expectedIssuer: expectedIssuer, isAtHashStrict: isStrict ?? false, transport: transport)
    }

    // MARK: Chatbase

    private func chatbase(_ table: inout DefinitionTable) -> ChatbaseDefinition? {
        // It becomes a part of a path.
        let agentID = required("agent_id", &table) {
            Self.isWord($0) && TextRules.isRelativeRoute($0) && !$0.contains("/")
        }
        let base = readBase("base_url", usual: "https://www.chatbase.co/api/sdk", &table)
        let device = text("device", &table) { AccountName($0) != nil }
        let userAgent = text("user_agent", &table) { !$0.isEmpty && TextRules.isHeaderValue($0) }
        let identifies = table.boolean("identify_on_start")
        let trusts = table.boolean("trust_verify_user_id")
        let transport = readTransport(&table)
        guard let agentID, let base else { return nil }
        return ChatbaseDefinition(
            agentID: agentID, baseURL: base, device: device, userAgent: userAgent,
            identifiesOnStart: identifies ?? false, trustsVerifiedUserID: trusts ?? false,
            transport: transport)
    }

    // MARK: social.plus

    private func socialPlus(_ table: inout DefinitionTable) -> SocialPlusDefinition? {
        let apiKey = requiredReference("api_key", &table)
        let (region, base) = readRegion(&table)
        if !table.members.contains(where: { ["region", "base_url"].contains($0.key) }) {
            table.faults.add(table.path(of: "region"), table.position, .notOneOfKeys("region", "base_url"))
        }
        let userID = text("user_id", &table) { TextRules.isPrintable($0, limit: 50) }
        let displayName = text("display_name", &table) { TextRules.isPrintable($0, limit: 100) }
        let isSecure = table.boolean("secure_mode")
        let logsIn = table.boolean("login_on_start")
        let verifies = table.boolean("verify_access_token")
        let pause = table.seconds("renewal_pause", in: 0...86_400)
        let loginTimeout = table.seconds("login_timeout", in: 1...300)
        let codes = table.integers("terminate_codes", in: 1...999_999_999, limit: 32)
        let ends = table.boolean("terminate_on_user_not_found")
        let sessionsPath = route("sessions_path", &table)
        let verifyPath = route("verify_path", &table)
        let revokePath = route("revoke_path", &table)
        let transport = readTransport(&table)
        if logsIn == true, !table.members.contains(where: { $0.key == "user_id" }) {
            table.faults.add(table.path(of: "user_id"), table.position, .missing)
        }
        guard let apiKey, let base else { return nil }
        return SocialPlusDefinition(
            apiKey: apiKey, baseURL: base, region: region, userID: userID, displayName: displayName,
            isSecureMode: isSecure ?? true, logsInOnStart: logsIn ?? false,
            verifiesAccessToken: verifies ?? true,
            renewalPause: pause ?? .seconds(600), loginTimeout: loginTimeout ?? .seconds(30),
            terminatingCodes: codes ?? [400_312], terminatesOnUserNotFound: ends ?? true,
            sessionsPath: sessionsPath ?? "api/v4/sessions", verifyPath: verifyPath ?? "api/v3/sessions",
            revokePath: revokePath ?? "api/v4/sessions", transport: transport)
    }

    /// Where a social.plus network is, by `region` or `base_url`; both nil where neither is there or one has a fault.
    func readRegion(
        _ table: inout DefinitionTable
    ) -> (region: SocialPlusDefinition.Region?, base: HTTPURL?) {
        let region = table.choice("region", SocialPlusDefinition.Region.self)
        if table.members.contains(where: { $0.key == "region" }) {
            table.refuse("base_url", .notOneOfKeys("region", "base_url"))
            return (region, region.flatMap { try? HTTPURL("https://apix.\($0.rawValue).amity.co") })
        }
        return (nil, readBase("base_url", usual: nil, &table))
    }

    // MARK: Parts

    private func required(
        _ key: String, _ table: inout DefinitionTable, isValid: (String) -> Bool
    ) -> String? {
        if !table.members.contains(where: { $0.key == key }) {
            table.faults.add(table.path(of: key), table.position, .missing)
        }
        return text(key, &table, isValid: isValid)
    }

    private func route(_ key: String, _ table: inout DefinitionTable) -> String? {
        guard let entry = table.entry(key), let text = table.string(entry) else { return nil }
        if TextRules.isRelativeRoute(text) { return text }
        table.fault(entry, .relativeRoute)
        return nil
    }

    // Kept without the slash at its end that many write.
    private func readBase(_ key: String, usual: String?, _ table: inout DefinitionTable) -> HTTPURL? {
        guard let entry = table.entry(key) else { return usual.flatMap { try? HTTPURL($0) } }
        guard let text = table.string(entry) else { return nil }
        guard !text.contains("?") else {
            table.fault(entry, .baseWithQuery)
            return nil
        }
        do throws(HTTPURL.Failure) {
            return try HTTPURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
        } catch {
            table.fault(entry, .url(error))
            return nil
        }
    }

    // What goes into a header, a path or a query as it is.
    private static func isWord(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func isIssuer(_ text: String) -> Bool {
        (1...2048).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
