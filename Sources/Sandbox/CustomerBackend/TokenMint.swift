import JSON

/// Makes tokens that look right and prove nothing: nobody can be signed in with one.
struct TokenMint {
    let random: @Sendable (Int) -> [UInt8]

    /// A new opaque token of exactly `length` characters of the URL-safe alphabet; 0: 43 of them, 256 random bits.
    func opaque(length: Int) -> String {
        let length = length == 0 ? 43 : length
        return String(Self.base64URL(random(length * 3 / 4 + 3)).prefix(length))
    }

    /// A new JWT in compact form (RFC 7519 §3.1), its signature of the length of RS256's but random.
    ///
    /// A claim `pad` brings it to `length`, or up to three bytes beyond; `issuedAt` and `expiry`, the claims `iat` and `exp`,
    /// are Unix seconds, and without `expiry` there is no `exp`.
    func jwt(length: Int, subject: String, issuer: String, issuedAt: Int64, expiry: Int64?) -> String {
        let identifier = Self.base64URL(random(12))
        let natural = compact(subject, issuer, issuedAt, expiry, identifier, pad: nil)
        guard length > natural.utf8.count else { return natural }
        // `"pad":"",` costs nine bytes of payload, and three bytes of payload are four of token.
        let missing = (length - natural.utf8.count) * 3 / 4 + 2 - 9
        return compact(subject, issuer, issuedAt, expiry, identifier, pad: max(0, missing))
    }

    private func compact(
        _ subject: String, _ issuer: String, _ issuedAt: Int64, _ expiry: Int64?, _ identifier: String,
        pad: Int?
    ) -> String {
        let header = #"{"alg":"RS256","typ":"JWT","kid":"sandbox"}"#
        let answer = Answer(status: 200, date: 0) { json in
            json.beginObject()
            json.key("iss")
            json.string(issuer)
            json.key("sub")
            json.string(subject)
            json.key("iat")
            json.integer(issuedAt)
            if let expiry {
                json.key("exp")
                json.integer(expiry)
            }
            json.key("jti")
            json.string(identifier)
            if let pad {
                json.key("pad")
                json.string(String(repeating: "p", count: pad))
            }
            json.endObject()
        }
        let payload = Self.base64URL(answer.body.dropLast())
        return "\(Self.base64URL(header.utf8)).\(payload).\(Self.base64URL(random(256)))"
    }

    /// Base64 with the URL-safe alphabet and no padding (RFC 4648 §5).
    static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count)) & 63])
            }
            bits &= (1 << UInt32(count)) - 1
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }
}
