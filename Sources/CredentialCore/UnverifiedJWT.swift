import JSON
package import Secrets

/// What a token says of itself, without a signature checked: good for a schedule, never for trust (RFC 7519).
package struct UnverifiedJWT: Equatable, Sendable {
    /// The `exp` of the payload.
    package let exp: ExpiryReading

    /// Why a token is no JWT in compact form (RFC 7515 §7.1).
    package enum Defect: String, Error, Sendable, CaseIterable {
        /// Other than three parts.
        case parts
        /// A part that is not base64url, as one that was cut off.
        case base64url
        /// A part that is no JSON object.
        case json
    }

    /// Nil when the token is not a JWT in compact form: not two dots, not base64url, not JSON objects.
    ///
    /// A JWE (four dots) is opaque here.
    package init?(_ token: SecretBytes) {
        guard let jwt = try? UnverifiedJWT(parsing: token) else { return nil }
        self = jwt
    }

    /// What keeps a token from being a JWT that begins as one does; nil for a JWT, and for what is opaque.
    package static func defect(of token: SecretBytes) -> Defect? {
        let looksLikeOne = token.withSpan { bytes in
            // `{"`, encoded; five parts are a JWE (RFC 7516 §7.1).
            guard bytes.count > 3, bytes[0] == UInt8(ascii: "e"), bytes[1] == UInt8(ascii: "y"),
                bytes[2] == UInt8(ascii: "J")
            else { return false }
            var dots = 0
            for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") { dots += 1 }
            return dots != 4
        }
        guard looksLikeOne else { return nil }
        do throws(Defect) {
            _ = try UnverifiedJWT(parsing: token)
            return nil
        } catch {
            return error
        }
    }

    private init(parsing token: SecretBytes) throws(Defect) {
        guard token.count <= Credential.tokenLimit else { throw .parts }
        exp = try token.withSpan { bytes throws(Defect) in
            guard let (first, second) = Self.dots(bytes) else { throw .parts }
            guard let header = Base64URL.decode(bytes.extracting(0..<first)),
                let payload = Base64URL.decode(bytes.extracting((first + 1)..<second)),
                Base64URL.isValid(bytes.extracting((second + 1)..<bytes.count))
            else { throw .base64url }
            guard header.withSpan({ Self.isObject($0) }), let exp = payload.withSpan({ Self.exp(of: $0) })
            else { throw .json }
            return exp
        }
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
