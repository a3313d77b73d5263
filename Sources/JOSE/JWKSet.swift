package import CredentialCore
import JSON
package import Secrets

/// The keys of an issuer (RFC 7517 §5): public ones, found by the `kid` that a token names.
package struct JWKSet {
    // One for each algorithm that a key may be used with; RSA without `alg` has two.
    private struct Entry {
        let keyID: String?
        let keys: [Key]
    }

    private let entries: [Entry]

    /// Bytes and keys of a set at most.
    private static let limits = (bytes: 1 << 18, keys: 100)

    /// Reads a set; keys that are not for signatures, or of a kind that is not spoken here, are passed over.
    ///
    /// - Throws: `keysMalformed` for what is no set, for two keys with one `kid`, and for a set with a shared secret in it;
    ///   `libraryFailed` when there is no library.
    package init(_ bytes: SecretBytes) throws(VerificationFailure) {
        entries = try bytes.withSpan { bytes throws(VerificationFailure) in
            var document = JSONDocument(limits: JSONLimits(length: Self.limits.bytes, depth: 16))
            guard let root = try? document.parse(bytes), root.kind == .object, let keys = root.member("keys"),
                keys.kind == .array, keys.count <= Self.limits.keys
            else { throw .keysMalformed }
            var entries: [Entry] = []
            var elements = keys.elements()
            while let element = elements.next() {
                guard element.kind == .object else { throw .keysMalformed }
                // Everybody can read the set: who could sign with a secret in it is everybody.
                if element.member("kty")?.isString("oct") == true { throw .keysMalformed }
                guard let entry = try Self.entry(element) else { continue }
                if let keyID = entry.keyID, entries.contains(where: { $0.keyID?.isSame(as: keyID) == true }) {
                    throw .keysMalformed
                }
                entries.append(entry)
            }
            return entries
        }
    }

    private static func entry(_ element: borrowing JSONValue) throws(VerificationFailure) -> Entry? {
        guard JWK.isFor("verify", element), let algorithms = JWK.algorithms(of: element) else { return nil }
        let keyID = element.member("kid")
        if let keyID, keyID.kind != .string { throw .keysMalformed }
        var keys: [Key] = []
        for algorithm in algorithms {
            do {
                keys.append(try Key(JWK.pair(element, isPrivate: false), algorithm))
            } catch .libraryFailed {
                throw .libraryFailed
            } catch {
                // Too weak, or no key at all: as if it was not there.
                return nil
            }
        }
        return Entry(keyID: keyID?.string, keys: keys)
    }

    /// The key that a token is to be verified with: the one of its `kid`, without a `kid` the only one there is.
    ///
    /// - Throws: `unknownKey`; `algorithmMismatch` when the key is not for the algorithm that the token names.
    package func key(for token: CompactJWS) throws(VerificationFailure) -> Key {
        let entry: Entry?
        if let keyID = token.keyID {
            entry = entries.first { $0.keyID?.isSame(as: keyID) == true }
        } else {
            entry = entries.count == 1 ? entries.first : nil
        }
        guard let entry else { throw .unknownKey }
        guard let key = entry.keys.first(where: { $0.algorithm.rawValue == token.algorithm }) else {
            throw .algorithmMismatch
        }
        return key
    }
}

extension String {
    /// Byte by byte: `==` takes texts for equal that differ in their normalisation.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
