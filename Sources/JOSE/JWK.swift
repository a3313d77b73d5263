import COpenSSL
import CredentialCore
import JSON
import Secrets

/// JSON Web Keys (RFC 7517, RFC 7518 §6, RFC 8037 §2).
enum JWK {
    /// Whether the bytes are an object with a `kty`, whatever else it is.
    static func isKey(_ bytes: Span<UInt8>) -> Bool {
        var document = JSONDocument()
        guard let root = try? document.parse(bytes), root.kind == .object else { return false }
        return root.member("kty") != nil || root.member("keys") != nil
    }

    /// Reads one key for `algorithm`.
    static func key(
        in bytes: SecretBytes, _ algorithm: SignatureAlgorithm, isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer {
        try bytes.withSpan { bytes throws(SigningFailure) in
            var document = JSONDocument(limits: JSONLimits(length: 1 << 16, depth: 8))
            guard let root = try? document.parse(bytes), root.kind == .object else { throw .keyMalformed }
            if let named = root.member("alg")?.string, named != algorithm.rawValue { throw .keyUnsuitable }
            return try pair(root, isPrivate: isPrivate)
        }
    }

    /// The library's key; whoever gets it frees it.
    static func pair(_ key: borrowing JSONValue, isPrivate: Bool) throws(SigningFailure) -> OpaquePointer {
        let made: OpaquePointer?
        switch key.member("kty")?.string {
        case "RSA": made = try rsa(key, isPrivate)
        case "EC": made = try ec(key, isPrivate)
        case "OKP":
            guard key.member("crv")?.string == "Ed25519" else { throw .keyUnsuitable }
            guard let bytes = number(isPrivate ? "d" : "x", key) else { throw .keyMalformed }
            made = bytes.withSpan { bytes in
                bytes.withUnsafeBufferPointer {
                    co_key_from_ed25519($0.baseAddress, $0.count, isPrivate)
                }
            }
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
            let part = index < 2 || isPrivate ? number(name, key) : nil
            if index < 2 || isPrivate && index == 2, part == nil { throw .keyMalformed }
            parts.append(part)
        }
        return withPointers(parts[...], [], []) { co_key_from_rsa($0, $1) }
    }

    // Nests one closure a part, so that every pointer is valid for the call.
    private static func withPointers<Result>(
        _ parts: ArraySlice<SecretBytes?>, _ pointers: [UnsafePointer<UInt8>?], _ lengths: [Int],
        _ body: ([UnsafePointer<UInt8>?], [Int]) -> Result
    ) -> Result {
        guard let first = parts.first else { return body(pointers, lengths) }
        guard let part = first else {
            return withPointers(parts.dropFirst(), pointers + [nil], lengths + [0], body)
        }
        return part.withSpan { bytes in
            bytes.withUnsafeBufferPointer {
                withPointers(parts.dropFirst(), pointers + [$0.baseAddress], lengths + [$0.count], body)
            }
        }
    }

    private static func ec(
        _ key: borrowing JSONValue, _ isPrivate: Bool
    ) throws(SigningFailure) -> OpaquePointer? {
        let bits: Int32
        switch key.member("crv")?.string {
        case "P-256": bits = 256
        case "P-384": bits = 384
        default: throw .keyUnsuitable
        }
        let d = isPrivate ? number("d", key) : nil
        guard let x = number("x", key), let y = number("y", key), !isPrivate || d != nil else {
            throw .keyMalformed
        }
        return withPointers([x, y, d][...], [], []) { pointers, lengths in
            co_key_from_ec(
                bits, pointers[0], lengths[0], pointers[1], lengths[1], pointers[2], lengths[2])
        }
    }

    private static func number(_ name: StaticString, _ key: borrowing JSONValue) -> SecretBytes? {
        guard let value = key.member(name), value.kind == .string, !value.hasEscapes,
            let bytes = Base64URL.decode(value.raw), !bytes.isEmpty
        else { return nil }
        return bytes
    }

    /// The algorithm that a key of a set is for: what it says, else the only one that its kind allows here.
    static func algorithm(of key: borrowing JSONValue) -> SignatureAlgorithm? {
        let stated = key.member("alg")?.string
        switch (key.member("kty")?.string, key.member("crv")?.string) {
        case ("RSA", _):
            return stated == nil ? .rs256 : [.rs256, .ps256].first { $0.rawValue == stated }
        case ("EC", "P-256"): return stated == nil || stated == "ES256" ? .es256 : nil
        case ("EC", "P-384"): return stated == nil || stated == "ES384" ? .es384 : nil
        case ("OKP", "Ed25519"):
            return stated == nil || stated == "EdDSA" || stated == "Ed25519" ? .edDSA : nil
        default: return nil
        }
    }
}
