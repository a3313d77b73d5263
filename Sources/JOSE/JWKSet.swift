package import CredentialCore
import JSON
package import Secrets

/// The keys of an issuer (RFC 7517 §5): public ones, found by the `kid` that a token names.
package struct JWKSet {
    private struct Entry {
        let keyID: String?
        let key: Key
    }

    private let entries: [Entry]

    /// Keys of a set at most.
    private static let limit = 100

    /// Reads a set; keys that are not for signatures, or of a kind that is not spoken here, are passed over.
    ///
    /// - Throws: `keysMalformed` for what is no set, for two keys with one `kid`, and for a set with a shared secret in it.
    package init(_ bytes: SecretBytes) throws(VerificationFailure) {
        entries = try bytes.withSpan { bytes throws(VerificationFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 18, depth: 16))
            guard let root = try? document.parse(bytes), root.kind == .object, let keys = root.member("keys"),
                keys.kind == .array, keys.count <= Self.limit
            else { throw .keysMalformed }
            var entries: [Entry] = []
            var seen: Set<String> = []
            var elements = keys.elements()
            while let element = elements.next() {
                guard element.kind == .object else { throw .keysMalformed }
                // Everybody can read the set: who could sign with a key of it is everybody.
                if element.member("kty")?.string == "oct" { throw .keysMalformed }
                let keyID = element.member("kid")?.string
                if let keyID, !seen.insert(keyID).inserted { throw .keysMalformed }
                if let use = element.member("use"), !use.isNull, use.string != "sig" { continue }
                guard let algorithm = JWK.algorithm(of: element),
                    let pair = try? JWK.pair(element, isPrivate: false),
                    let key = try? Key(pair, algorithm)
                else { continue }
                entries.append(Entry(keyID: keyID, key: key))
            }
            return entries
        }
    }

    /// The key that a token is to be verified with; without a `kid` the only one there is.
    func key(_ keyID: String?) throws(VerificationFailure) -> Key {
        if let keyID {
            guard let entry = entries.first(where: { $0.keyID == keyID }) else { throw .unknownKey }
            return entry.key
        }
        guard entries.count == 1, let only = entries.first else { throw .unknownKey }
        return only.key
    }
}
