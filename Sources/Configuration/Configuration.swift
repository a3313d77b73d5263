package import CredentialCore

/// Everything that the files say, checked: an existing value can be put to use as it is.
package struct Configuration: Equatable, Sendable {
    /// What the daemon itself is told.
    package let settings: DaemonSettings
    /// In the order of the files.
    package let accounts: [AccountDefinition]

    /// A file and what is in it.
    package struct File: Equatable, Sendable {
        /// As faults name it.
        package let path: String
        /// All of it, at most 1 MiB.
        package let bytes: [UInt8]
        /// What may stand in it.
        package let role: Role

        /// Which of the files it is.
        package enum Role: Sendable {
            /// `chatauthd.toml`: the daemon's settings, and accounts if one likes.
            case main
            /// One of `accounts.d`: accounts only.
            case accounts
        }

        /// A file that was read already.
        package init(path: String, bytes: [UInt8], role: Role) {
            self.path = path
            self.bytes = bytes
            self.role = role
        }
    }

    /// Reads files in this order; no file is no fault.
    ///
    /// Pure but for `names`, which is asked for the users and groups of rules.
    ///
    /// - Throws: `ConfigurationFailure` with all that was found: nothing of a configuration with a fault is used.
    package static func read(
        _ files: [File], defaults: Limits, names: any NameResolver
    ) throws(ConfigurationFailure) -> Configuration {
        var reader = ConfigurationReader(
            settings: DaemonSettings(limits: defaults),
            accountReader: AccountReader(writer: .configuration, names: names))
        for file in files { reader.read(file) }
        guard reader.faults.isEmpty else { throw ConfigurationFailure(faults: reader.faults) }
        return Configuration(settings: reader.settings, accounts: reader.accounts)
    }
}

private struct ConfigurationReader {
    var settings: DaemonSettings
    let accountReader: AccountReader
    var accounts: [AccountDefinition] = []
    var faults: [ConfigurationFault] = []
    // Where each account is, whether it was without fault or not.
    private var places: [AccountName: (file: String, position: TextPosition?)] = [:]

    private static let mainTables = ["daemon", "limits", "audit", "fetch"]
    // Whoever has that many broken files mends the first ones first.
    private static let faultLimit = 100

    init(settings: DaemonSettings, accountReader: AccountReader) {
        self.settings = settings
        self.accountReader = accountReader
    }

    mutating func read(_ file: Configuration.File) {
        guard faults.count < Self.faultLimit else { return }
        let tree: DefinitionNode
        do throws(TOMLText.Failure) {
            tree = try TOMLText.parse(file.bytes)
        } catch {
            faults.append(
                ConfigurationFault(
                    file: file.path, position: error.position, problem: .syntax(error.kind)))
            return
        }
        let found = DefinitionFaults()
        guard var root = DefinitionTable(tree, path: "", faults: found) else { return }
        switch file.role {
        case .main: settings.read(&root, accountReader)
        case .accounts:
            for key in Self.mainTables {
                guard let entry = root.entry(key) else { continue }
                faults.append(
                    ConfigurationFault(
                        file: file.path, position: entry.position, key: key, problem: .onlyInMainFile))
            }
        }
        if let table = root.table("account") {
            for member in table.members { readAccount(member, of: table, in: file) }
        }
        root.finish()
        faults += found.list.map {
            ConfigurationFault(
                file: file.path, position: $0.position, key: $0.key, problem: .value($0.problem))
        }
    }

    private mutating func readAccount(
        _ member: DefinitionNode.Member, of table: DefinitionTable, in file: Configuration.File
    ) {
        let path = table.path(of: member.key)
        guard let name = AccountName(member.key) else {
            table.faults.add(path, member.position, .accountName)
            return
        }
        if let first = places[name] {
            faults.append(
                ConfigurationFault(
                    file: file.path, position: member.position, key: path,
                    problem: .accountTwice(file: first.file, position: first.position)))
        } else {
            places[name] = (file.path, member.position)
        }
        guard let inner = DefinitionTable(member.node, path: path, faults: table.faults) else { return }
        if let account = accountReader.read(name, inner) { accounts.append(account) }
    }
}
