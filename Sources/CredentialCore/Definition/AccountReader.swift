/// Reads one account from a description, and refuses what this version cannot do or its writer may not say.
///
/// Configuration and RPC share it, so that an account means the same wherever it comes from.
package struct AccountReader {
    /// Who wrote the text.
    package enum Writer: Sendable {
        /// Root or the user, in a file: may refer to files and systemd credentials.
        case configuration
        /// A client: may not make the daemon read files.
        case rpc
        /// This program, into the store: rules carry the numbers that their names had.
        case store
    }

    let writer: Writer
    let names: (any NameResolver)?

    /// `names` is asked for what rules name; a stored text needs none.
    package init(writer: Writer, names: (any NameResolver)?) {
        self.writer = writer
        self.names = names
    }

    /// How many rules a list may have.
    static let ruleLimit = 64

    /// Reads provider, source, rules and autostart from `table`; nil when there was a fault.
    ///
    /// The rules stand in `policy` where they are not in `table`, as in the store.
    package func read(
        _ name: AccountName, _ table: DefinitionTable, policy: DefinitionTable? = nil
    ) -> AccountDefinition? {
        var table = table
        let faults = table.faults
        let before = faults.list.count
        let provider = readProvider(&table)
        let settings = provider.map { readSettings($0, &table) }
        let source = table.table("source").flatMap { readSource($0, name, settings?.platform) }
        let access: AccessRules
        if let policy {
            access = readRules(policy)
        } else {
            access = table.table("allow").map(readRules) ?? .nobody
        }
        let startsByItself = table.boolean("autostart") ?? true
        let early = table.fraction("early_fraction")
        let callbackTimeout = table.seconds("callback_timeout", in: 1...60)
        // The keys of a provider that is not known are no typing errors.
        if provider != nil { table.finish() }
        guard let provider, faults.list.count == before, !faults.isTruncated else { return nil }
        return AccountDefinition(
            name: name, provider: provider, platform: settings?.platform,
            requestHeaders: settings?.headers ?? [], source: source, access: access,
            startsByItself: startsByItself, earlyFraction: early,
            callbackTimeout: callbackTimeout ?? AccountDefinition.usualCallbackTimeout,
            origin: writer == .configuration ? .configuration : .rpc)
    }

    private func readProvider(_ table: inout DefinitionTable) -> AccountDefinition.Provider? {
        guard let entry = table.entry("provider") else { return .generic }
        guard let text = table.string(entry) else { return nil }
        if let provider = AccountDefinition.Provider(rawValue: text) { return provider }
        table.fault(entry, .unknown(text, of: AccountDefinition.Provider.allCases.map(\.rawValue)))
        return nil
    }

    // MARK: Rules

    private func readRules(_ table: DefinitionTable) -> AccessRules {
        var table = table
        let use = table.entry("use").map { ruleList($0, table) } ?? []
        let operate = table.entry("operate").map { ruleList($0, table) } ?? []
        table.finish()
        return AccessRules(use: use, operate: operate)
    }

    /// Reads a list of rules; those with a fault are left out.
    package func ruleList(_ entry: DefinitionTable.Entry, _ table: DefinitionTable) -> [AccessRule] {
        guard case .array(let elements) = entry.node.value else {
            table.fault(entry, expected: .list)
            return []
        }
        guard elements.count <= Self.ruleLimit else {
            table.fault(entry, .tooMany(limit: Self.ruleLimit))
            return []
        }
        return elements.enumerated().compactMap { index, element in
            rule(element, path: "\(entry.path)[\(index)]", faults: table.faults)
        }
    }

    private func rule(_ node: DefinitionNode, path: String, faults: DefinitionFaults) -> AccessRule? {
        guard var table = DefinitionTable(node, path: path, faults: faults) else { return nil }
        let before = faults.list.count
        let user = table.entry("user")
        let group = table.entry("group")
        let unit = table.entry("unit").flatMap { entry -> SystemUnit? in
            guard let text = table.string(entry) else { return nil }
            if let unit = SystemUnit(text) { return unit }
            // It narrows the rule: without it the rule would admit more than was meant.
            table.fault(entry, .unitName)
            return nil
        }
        let rule: AccessRule?
        if writer == .store {
            let numbers = 0...Int64(UInt32.max - 1)
            let uid = table.integer("uid", in: numbers).flatMap { UInt32(exactly: $0) }
            let gid = table.integer("gid", in: numbers).flatMap { UInt32(exactly: $0) }
            // A name whose number is lost no longer narrows the rule.
            if user != nil, uid == nil { faults.add(table.path(of: "uid"), node.position, .missing) }
            if group != nil, gid == nil { faults.add(table.path(of: "gid"), node.position, .missing) }
            rule = AccessRule(
                user: user.flatMap(table.string), uid: uid, group: group.flatMap(table.string), gid: gid,
                unit: unit)
        } else {
            let (userName, uid) = identity(user, table, .unknownUser) { name throws(NameResolutionFailure) in
                try names?.uid(of: name)
            }
            let (groupName, gid) = identity(group, table, .unknownGroup) {
                name throws(NameResolutionFailure) in
                try names?.gid(of: name)
            }
            rule = AccessRule(user: userName, uid: uid, group: groupName, gid: gid, unit: unit)
        }
        if rule == nil, faults.list.count == before {
            faults.add(path, node.position, .ruleWithoutUserOrGroup)
        }
        table.finish()
        return faults.list.count == before && !faults.isTruncated ? rule : nil
    }

    // A name or a number. The greatest number means "none" to the kernel and is nobody's.
    private func identity(
        _ entry: DefinitionTable.Entry?, _ table: DefinitionTable, _ unknown: DefinitionProblem,
        _ resolve: (String) throws(NameResolutionFailure) -> UInt32?
    ) -> (name: String?, number: UInt32?) {
        guard let entry else { return (nil, nil) }
        switch entry.node.value {
        case .string(let name):
            guard (1...255).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
            else {
                table.fault(entry, .malformedText)
                return (nil, nil)
            }
            do throws(NameResolutionFailure) {
                if let number = try resolve(name), number != .max { return (name, number) }
                table.fault(entry, unknown)
            } catch {
                table.fault(entry, .nameService(code: error.code))
            }
        case .integer(let number):
            if let number = UInt32(exactly: number), number != .max { return (nil, number) }
            table.fault(entry, .outOfRange(from: 0, to: Int64(UInt32.max - 1)))
        default: table.fault(entry, expected: .nameOrNumber)
        }
        return (nil, nil)
    }
}
