import CredentialCore
import JSON
import Secrets

/// What a JWT says in its two readable parts, without a signature checked: good for advice and for schedules, never for trust.
enum TokenClaims {
    /// The parts that are JSON objects (RFC 7515 §3).
    enum Part {
        case header, payload
    }

    /// Lends a part of a token; nil when the token is not a well-formed JWT in compact form.
    static func read<Result>(
        _ part: Part, of token: SecretBytes, _ body: (borrowing JSONValue) -> Result
    ) -> Result? {
        guard UnverifiedJWT(token) != nil else { return nil }
        let text: SecretBytes? = token.withSpan { bytes in
            var dots: [Int] = []
            for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") { dots.append(index) }
            guard dots.count == 2 else { return nil }
            return Base64URL.decode(
                part == .header
                    ? bytes.extracting(0..<dots[0]) : bytes.extracting((dots[0] + 1)..<dots[1]))
        }
        guard let text else { return nil }
        return PlatformWire.withObject(text, body)
    }

    /// A claim that names somebody: a text, or a number as its digits; nil for anything else, and for an empty text.
    static func subject(_ name: StaticString, in payload: borrowing JSONValue) -> String? {
        guard let claim = payload.member(name) else { return nil }
        if let number = claim.integer { return String(number) }
        return claim.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
