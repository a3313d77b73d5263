/// References to secrets, and texts that must have a shape.
extension AccountReader {
    func reference(_ key: String, _ table: inout DefinitionTable) -> SecretReference? {
        guard let entry = table.entry(key) else { return nil }
        if case .string = entry.node.value {
            table.fault(entry, .literalSecret)
            return nil
        }
        guard case .table = entry.node.value,
            var inner = DefinitionTable(entry.node, path: entry.path, faults: table.faults)
        else {
            table.fault(entry, expected: .reference)
            return nil
        }
        return reference(&inner)
    }

    func reference(_ table: inout DefinitionTable) -> SecretReference? {
        let file = table.entry("file")
        let credential = table.entry("credential")
        let secret = table.entry("secret")
        table.finish()
        guard [file, credential, secret].count(where: { $0 != nil }) == 1 else {
            table.faults.add(table.path, table.position, .notOneReference)
            return nil
        }
        if let secret {
            guard let text = table.string(secret) else { return nil }
            if let name = SecretName(text) { return .secret(name) }
            table.fault(secret, .entryName)
            return nil
        }
        guard writer != .rpc else {
            table.faults.add(table.path, table.position, .notOverRPC)
            return nil
        }
        if let file { return path(file, table).map { .file(path: $0) } }
        return credential.flatMap { credentialName($0, table) }.map { .credential(name: $0) }
    }

    func path(_ entry: DefinitionTable.Entry, _ table: DefinitionTable) -> String? {
        guard let text = table.string(entry) else { return nil }
        guard TextRules.isAbsolutePath(text) else {
            table.fault(entry, text.utf8.first == UInt8(ascii: "/") ? .malformedText : .relativePath)
            return nil
        }
        return text
    }

    func credentialName(_ entry: DefinitionTable.Entry, _ table: DefinitionTable) -> String? {
        guard let text = table.string(entry) else { return nil }
        guard TextRules.isCredentialName(text) else {
            table.fault(entry, .credentialName)
            return nil
        }
        return text
    }

    func text(
        _ key: String, _ table: inout DefinitionTable, isValid: (String) -> Bool
    ) -> String? {
        guard let entry = table.entry(key), let text = table.string(entry) else { return nil }
        if isValid(text) { return text }
        table.fault(entry, .malformedText)
        return nil
    }

    // Strict, since a person wrote it: seconds or a date, never milliseconds.
    func moment(_ key: String, _ table: inout DefinitionTable) -> WallTime? {
        guard let entry = table.entry(key) else { return nil }
        let moment: WallTime? =
            switch entry.node.value {
            case .moment(let moment): moment
            case .integer(let seconds): WallTime(seconds: seconds)
            case .string(let text): RFC3339.parse(text)
            default: nil
            }
        // However it is written: what is before 1970 is no moment that anything here ends at, nor one that is read back as seconds.
        if let moment, (0...253_402_300_799).contains(moment.seconds) { return moment }
        table.fault(entry, .moment)
        return nil
    }
}
