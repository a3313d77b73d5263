package import JSON

/// An account as JSON: the parameters of `account.add`, the rows of the store, the answer of `account.show`.
package enum AccountDefinitionJSON {
    /// Why a JSON value is no account: everything that is wrong with it, at most 20.
    package struct Failure: Error, Equatable, Sendable {
        /// In the order in which they were found; never empty.
        package let faults: [DefinitionFault]

        /// The failure that consists of these faults.
        package init(faults: [DefinitionFault]) { self.faults = faults }

        /// The first fault, for people.
        package var message: String { faults.first?.message ?? "not an account" }
    }

    /// Reads the parameters of `account.add`: what a file says of an account, the keys of its platform in `settings`.
    ///
    /// Names in rules are resolved now; their numbers decide from here on.
    package static func added(
        _ parameters: borrowing JSONValue, names: any NameResolver
    ) throws(Failure) -> AccountDefinition {
        let faults = DefinitionFaults()
        var name: AccountName?
        var definition: AccountDefinition?
        if var table = DefinitionTable(DefinitionNode(parameters), path: "", faults: faults),
            let entry = table.required("account"), let text = table.string(entry)
        {
            name = AccountName(text)
            if let name {
                definition = AccountReader(writer: .rpc, names: names).read(name, table)
            } else {
                table.fault(entry, .accountName)
            }
        }
        guard let definition, faults.list.isEmpty else { throw Failure(faults: faults.list) }
        return definition
    }

    /// Reads what `writeDefinition` and `writePolicy` wrote.
    package static func stored(
        name: AccountName, definition: borrowing JSONValue, policy: borrowing JSONValue
    ) throws(Failure) -> AccountDefinition {
        let faults = DefinitionFaults()
        let table = DefinitionTable(DefinitionNode(definition), path: "definition", faults: faults)
        let rules = DefinitionTable(DefinitionNode(policy), path: "policy", faults: faults)
        guard let table, let rules,
            let account = AccountReader(writer: .store, names: nil).read(name, table, policy: rules)
        else { throw Failure(faults: faults.list) }
        return account
    }

    /// Writes all but the rules as one object, in the words of `account.add`.
    package static func writeDefinition(_ account: AccountDefinition, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("provider")
        writer.string(account.provider.rawValue)
        writeSettings(account, to: &writer)
        if let source = account.source {
            writer.key("source")
            write(source, to: &writer)
        }
        writer.key("autostart")
        writer.bool(account.startsByItself)
        if let early = account.earlyFraction {
            writer.key("early_fraction")
            writer.double(early.value)
        }
        if account.callbackTimeout != AccountDefinition.usualCallbackTimeout {
            seconds("callback_timeout", account.callbackTimeout, &writer)
        }
        writer.endObject()
    }

    /// Writes the rules as one object; beside the names stand the numbers that they had.
    package static func writePolicy(_ access: AccessRules, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("use")
        write(access.use, to: &writer)
        writer.key("operate")
        write(access.operate, to: &writer)
        writer.endObject()
    }

    private static func write(_ rules: [AccessRule], to writer: inout JSONWriter) {
        writer.beginArray()
        for rule in rules {
            writer.beginObject()
            member("user", rule.user, &writer)
            if let uid = rule.uid {
                writer.key("uid")
                writer.integer(Int64(uid))
            }
            member("group", rule.group, &writer)
            if let gid = rule.gid {
                writer.key("gid")
                writer.integer(Int64(gid))
            }
            member("unit", rule.unit?.text, &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes a source as one object; secrets are references, so nothing in it is secret.
    package static func write(_ source: SourceDefinition, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("kind")
        writer.string(source.kind)
        switch source {
        case .static(let source): write(source, to: &writer)
        case .file(let source): write(source, to: &writer)
        case .http(let source): write(source, to: &writer)
        case .oauth(let source): write(source, to: &writer)
        case .jwt(let source): write(source, to: &writer)
        case .rpc: break
        }
        writer.endObject()
    }

    private static func write(_ source: StaticSource, to writer: inout JSONWriter) {
        if let token = source.idToken {
            writer.key("id_token")
            write(token, to: &writer)
        }
        if let token = source.accessToken {
            writer.key("access_token")
            write(token, to: &writer)
        }
        member("issuer", source.issuer, &writer)
        if let moment = source.expiresAt {
            writer.key("expires_at")
            writer.integer(moment.seconds)
        }
    }

    private static func write(_ source: FileSource, to writer: inout JSONWriter) {
        switch source.file {
        case .file(let path): member("path", path, &writer)
        case .credential(let name): member("credential", name, &writer)
        case .secret(let name): member("secret", name.text, &writer)
        }
        writer.key("format")
        switch source.format {
        case .token: writer.string("token")
        case .json(let fields):
            writer.string("json")
            write(fields, to: &writer)
        }
    }

    static func write(_ fields: FieldMap, to writer: inout JSONWriter) {
        writer.key("fields")
        writer.beginObject()
        member("token", fields.token, &writer)
        member("id_token", fields.idToken, &writer)
        member("access_token", fields.accessToken, &writer)
        member("issuer", fields.issuer, &writer)
        member("expires_at", fields.expiresAt, &writer)
        member("expires_in", fields.expiresIn, &writer)
        writer.endObject()
    }
}
