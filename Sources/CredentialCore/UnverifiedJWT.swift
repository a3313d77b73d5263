import JSON
package import Secrets

/// What a token says of itself, without a signature checked: good for a schedule, never for trust (RFC 7519).
package struct UnverifiedJWT: Equatable, Sendable {
    /// The `exp` of the payload.
    package let exp: ExpiryReading

    /// Nil when the token is not a JWT in compact form: not two dots, not base64url, not JSON objects.
    ///
    /// A JWE (four dots) is opaque here.
    package init?(_ token: SecretBytes) {
        guard token.count <= Credential.tokenLimit else { return nil }
        let reading: ExpiryReading? = token.withSpan { bytes in
            guard let (first, second) = Self.dots(bytes) else { return nil }
            guard let header = Base64URL.decode(bytes.extracting(0..<first)),
                let payload = Base64URL.decode(bytes.extracting((first + 1)..<second)),
                Base64URL.isValid(bytes.extracting((second + 1)..<bytes.count))
            else { return nil }
            guard header.withSpan({ Self.isObject($0) }) else { return nil }
            return payload.withSpan { Self.exp(of: $0) }
        }
        guard let reading else { return nil }
        exp = reading
    }

    // Counted, not split: a token of dots alone costs nothing.
    private static func dots(_ bytes: Span<UInt8>) -> (Int, Int)? {
        var first: Int?
        var second: Int?
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") {
            if first == nil {
                first = index
            } else if second == nil {
                second = index
            } else {
                return nil
            }
        }
        guard let first, let second else { return nil }
        return (first, second)
    }

    private static func isObject(_ bytes: Span<UInt8>) -> Bool {
        var document = JSONDocument()
        guard let value = try? document.parse(bytes) else { return false }
        return value.kind == .object
    }

    private static func exp(of bytes: Span<UInt8>) -> ExpiryReading? {
        var document = JSONDocument()
        guard let payload = try? document.parse(bytes), payload.kind == .object else { return nil }
        guard let exp = payload.member("exp") else { return .absent }
        return ExpiryReading.numericDate(exp)
    }
}
