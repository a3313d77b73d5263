import COpenSSL
import CredentialCore
import JSON
import Secrets

/// JSON Web Keys (RFC 7517, RFC 7518 §6, RFC 8037 §2).
enum JWK {
    /// Whether the bytes are a key or a set of keys, whatever else is in there.
    static func isKey(_ bytes: Span<UInt8>) -> Bool {
        var document = JSONDocument()
        guard let root = try? document.parse(bytes), root.kind == .object else { return false }
        return root.member("kty") != nil || root.member("keys") != nil
    }

    /// Reads one key for `algorithm`; whoever gets it frees it.
    static func key(
        in bytes: SecretBytes, _ algorithm: SignatureAlgorithm, isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer {
        try bytes.withSpan { bytes throws(SigningFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 16, depth: 8))
            guard let root = try? document.parse(bytes), root.kind == .object else { throw .keyMalformed }
            guard let allowed = self.algorithms(of: root), allowed.contains(algorithm),
                isFor(isPrivate ? "sign" : "verify", root)
            else { throw .keyUnsuitable }
            return try pair(root, isPrivate: isPrivate)
        }
    }

    /// The library's key; whoever gets it frees it.
    static func pair(_ key: borrowing JSONValue, isPrivate: Bool) throws(SigningFailure) -> OpaquePointer {
        guard co_load() == 1 else { throw .libraryFailed }
        let made: OpaquePointer?
        switch key.member("kty")?.string {
        case "RSA": made = try rsa(key, isPrivate)
        case "EC": made = try ec(key, isPrivate)
        case "OKP": made = try ed25519(key, isPrivate)
        default: throw .keyUnsuitable
        }
        guard let made else { throw .keyMalformed }
        return made
    }

    private static func rsa(
        _ key: borrowing JSONValue, _ isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer? {
        let names: [StaticString] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"]
        var parts: [SecretBytes?] = []
        for (index, name) in names.enumerated() {
            guard isPrivate || index < 2 else {
                parts.append(nil)
                continue
            }
            // The last five are optional, but all or none of them (RFC 7518 §6.3.2).
            let isOptional = index > 2 && key.member("p") == nil && key.member(name) == nil
            parts.append(isOptional ? nil : try number(name, key))
        }
        // More than two primes are not spoken.
        if isPrivate, key.member("oth") != nil { throw .keyUnsuitable }
        return withBytes(parts[...]) { co_key_from_rsa($0) }
    }

    private static func ec(
        _ key: borrowing JSONValue, _ isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer? {
        let kind: Int32
        switch key.member("crv")?.string {
        case "P-256": kind = Int32(CO_P256)
        case "P-384": kind = Int32(CO_P384)
        default: throw .keyUnsuitable
        }
        let parts = [try number("x", key), try number("y", key), isPrivate ? try number("d", key) : nil]
        return withBytes(parts[...]) { co_key_from_ec(kind, $0[0], $0[1], $0[2]) }
    }

    private static func ed25519(
        _ key: borrowing JSONValue, _ isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer? {
        guard key.member("crv")?.string == "Ed25519" else { throw .keyUnsuitable }
        let parts = [try number("x", key), isPrivate ? try number("d", key) : nil]
        return withBytes(parts[...]) { co_key_from_ed25519($0[0], $0[1]) }
    }

    // Nests one closure a part, so that every pointer is valid for the call.
    private static func withBytes<Result>(
        _ parts: ArraySlice<SecretBytes?>, _ pointers: [co_bytes] = [], _ body: ([co_bytes]) -> Result
    ) -> Result {
        guard let first = parts.first else { return body(pointers) }
        guard let part = first else {
            return withBytes(parts.dropFirst(), pointers + [co_bytes(bytes: nil, length: 0)], body)
        }
        return part.withSpan { bytes in
            bytes.withUnsafeBufferPointer {
                withBytes(
                    parts.dropFirst(), pointers + [co_bytes(bytes: $0.baseAddress, length: $0.count)], body)
            }
        }
    }

    private static func number(
        _ name: StaticString, _ key: borrowing JSONValue
    ) throws(SigningFailure) -> SecretBytes {
        guard let value = key.member(name), value.kind == .string, !value.hasEscapes,
            let bytes = Base64URL.decode(value.raw), !bytes.isEmpty
        else { throw .keyMalformed }
        return bytes
    }

    // MARK: What a key is for

    /// The algorithms that a key is for: the one that it states, else those that its kind allows; nil: none that is spoken here.
    static func algorithms(of key: borrowing JSONValue) -> [SignatureAlgorithm]? {
        let allowed: [SignatureAlgorithm]
        switch (key.member("kty")?.string, key.member("crv")?.string) {
        case ("RSA", _): allowed = [.rs256, .ps256]
        case ("EC", "P-256"): allowed = [.es256]
        case ("EC", "P-384"): allowed = [.es384]
        case ("OKP", "Ed25519"): allowed = [.edDSA]
        default: return nil
        }
        guard let stated = key.member("alg") else { return allowed }
        // RFC 9864 gives EdDSA with this curve a name of its own.
        if stated.isString("Ed25519") { return allowed == [.edDSA] ? allowed : nil }
        return allowed.first { $0.rawValue == stated.string }.map { [$0] }
    }

    /// Whether neither `use` nor `key_ops` speaks against using the key like that (RFC 7517 §4.2, §4.3).
    static func isFor(_ operation: StaticString, _ key: borrowing JSONValue) -> Bool {
        if let use = key.member("use"), !use.isString("sig") { return false }
        guard let operations = key.member("key_ops") else { return true }
        guard operations.kind == .array else { return false }
        var elements = operations.elements()
        while let element = elements.next() {
            if element.isString(operation) { return true }
        }
        return false
    }
}
