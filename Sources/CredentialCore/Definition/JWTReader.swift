/// `jwt` sources, as descriptions have them.
extension AccountReader {
    private static let claimLimit = 64
    private static let claimDepth = 4
    // What the source sets itself, or has keys of their own for.
    private static let reservedClaims = ["iat", "exp", "nbf", "iss", "sub", "aud"]

    func jwtSource(_ table: inout DefinitionTable) -> SourceDefinition? {
        let key = reference("key", &table)
        if !table.members.contains(where: { $0.key == "key" }) {
            table.faults.add(table.path(of: "key"), table.position, .missing)
        }
        let algorithm = table.choice("algorithm", SignatureAlgorithm.self)
        if !table.members.contains(where: { $0.key == "algorithm" }) {
            table.faults.add(table.path(of: "algorithm"), table.position, .missing)
        }
        let keyID = text("key_id", &table) { Self.isVisible($0, limit: 1024) }
        let lifetime = table.seconds("lifetime", in: 1...86_400)
        var claims: [JWTSource.Claim] = []
        for (name, claim) in [("issuer", "iss"), ("subject", "sub")] {
            if let value = text(name, &table, isValid: { Self.isClaimText($0) }) {
                claims.append(JWTSource.Claim(name: claim, value: .text(value)))
            }
        }
        if let value = readAudience(&table) { claims.append(JWTSource.Claim(name: "aud", value: value)) }
        if let inner = table.table("claims") { claims += readClaims(inner, depth: 1) }
        guard let key, let algorithm else { return nil }
        return .jwt(
            JWTSource(
                key: key, algorithm: algorithm, keyID: keyID, lifetime: lifetime ?? .seconds(300),
                claims: claims))
    }

    // One text or several (RFC 7519 §4.1.3); an empty list would be for nobody.
    private func readAudience(_ table: inout DefinitionTable) -> JWTSource.Claim.Value? {
        guard let entry = table.entry("audience") else { return nil }
        switch entry.node.value {
        case .string: return claimValue(entry.node, entry.path, 1, table)
        case .array(let elements):
            guard !elements.isEmpty else {
                table.fault(entry, .malformedText)
                return nil
            }
            for (index, element) in elements.enumerated() {
                if case .string = element.value { continue }
                table.faults.add(
                    "\(entry.path)[\(index)]", element.position,
                    .wrongType(expected: .string, found: element.type))
                return nil
            }
            return claimValue(entry.node, entry.path, 1, table)
        default:
            table.fault(entry, expected: .string)
            return nil
        }
    }

    private func readClaims(_ table: DefinitionTable, depth: Int) -> [JWTSource.Claim] {
        guard table.members.count <= Self.claimLimit else {
            table.faults.add(table.path, table.position, .tooMany(limit: Self.claimLimit))
            return []
        }
        return table.members.compactMap { member in
            let path = table.path(of: member.key)
            guard Self.isClaimText(member.key) else {
                table.faults.add(path, member.position, .malformedText)
                return nil
            }
            guard depth > 1 || !Self.reservedClaims.contains(member.key) else {
                table.faults.add(path, member.position, .claimReserved)
                return nil
            }
            return claimValue(member.node, path, depth, table).map {
                JWTSource.Claim(name: member.key, value: $0)
            }
        }
    }

    private func claimValue(
        _ node: DefinitionNode, _ path: String, _ depth: Int, _ table: DefinitionTable
    ) -> JWTSource.Claim.Value? {
        func fault(_ problem: DefinitionProblem) -> JWTSource.Claim.Value? {
            table.faults.add(path, node.position, problem)
            return nil
        }
        switch node.value {
        case .string(let text): return Self.isClaimText(text) ? .text(text) : fault(.malformedText)
        case .integer(let number): return .integer(number)
        case .boolean(let flag): return .boolean(flag)
        case .array(let elements):
            guard depth < Self.claimDepth, elements.count <= Self.claimLimit else {
                return fault(.tooMany(limit: Self.claimLimit))
            }
            let values = elements.enumerated().compactMap { index, element in
                claimValue(element, "\(path)[\(index)]", depth + 1, table)
            }
            return values.count == elements.count ? .list(values) : nil
        case .table:
            guard depth < Self.claimDepth else { return fault(.tooMany(limit: Self.claimLimit)) }
            return DefinitionTable(node, path: path, faults: table.faults).map {
                .object(readClaims($0, depth: depth + 1))
            }
        default: return fault(.wrongType(expected: .string, found: node.type))
        }
    }

    private static func isClaimText(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
