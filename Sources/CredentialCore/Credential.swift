package import Secrets

/// What is handed out: stored and replaced wholesale, never in part (R8).
///
/// An existing value is a valid one: at least one token, each of 1 to 256 KiB of visible ASCII and spaces (RFC 6749, appendix
/// A.12), the issuer at most 2,048 bytes without control characters.
package struct Credential: Sendable {
    /// The identity token; nil when there is none.
    package let idToken: SecretBytes?
    /// The access token; nil when there is none.
    package let accessToken: SecretBytes?
    /// Who issued them, where the caller said so (R22).
    package let issuer: String?

    /// Bytes of one token; more is refused before anything is spent.
    package static let tokenLimit = 256 * 1024

    /// Why tokens do not make a credential.
    package enum Failure: Error, Equatable, Sendable {
        /// Neither token is there (R9).
        case empty
        case tooLarge(field: Field, length: Int)
        /// A byte that no token may have: it would break out of the header that carries it.
        case malformed(field: Field)
    }

    /// Which part of a credential is meant.
    package enum Field: String, Sendable {
        case idToken = "id_token"
        case accessToken = "access_token"
        case issuer
    }

    /// Empty strings count as absent (R8).
    package init(idToken: SecretBytes?, accessToken: SecretBytes?, issuer: String? = nil) throws(Failure) {
        self.idToken = try Self.checked(idToken, .idToken)
        self.accessToken = try Self.checked(accessToken, .accessToken)
        if let issuer, !issuer.isEmpty {
            guard issuer.utf8.count <= 2048 else {
                throw .tooLarge(field: .issuer, length: issuer.utf8.count)
            }
            for byte in issuer.utf8 where byte < 0x21 || byte > 0x7E { throw .malformed(field: .issuer) }
            self.issuer = issuer
        } else {
            self.issuer = nil
        }
        guard self.idToken != nil || self.accessToken != nil else { throw .empty }
    }

    private static func checked(_ token: SecretBytes?, _ field: Field) throws(Failure) -> SecretBytes? {
        guard let token, !token.isEmpty else { return nil }
        guard token.count <= tokenLimit else { throw .tooLarge(field: field, length: token.count) }
        let isWellFormed = token.withSpan { bytes in
            for index in 0..<bytes.count where bytes[index] < 0x20 || bytes[index] > 0x7E { return false }
            return true
        }
        guard isWellFormed else { throw .malformed(field: field) }
        return token
    }

    /// The token that is sent: the identity token, else the access token (R11).
    package var bearer: SecretBytes {
        if let idToken { return idToken }
        guard let accessToken else { preconditionFailure("a credential has a token") }
        return accessToken
    }

    /// The access token where it stands beside a different identity token; nil where it is the bearer or equals it (R14).
    package var companion: SecretBytes? {
        guard let idToken, let accessToken, !idToken.isEqual(to: accessToken) else { return nil }
        return accessToken
    }
}

/// Counts the replacements of an account's credential; the first credential has 1, and the number never goes back.
package struct Generation: Hashable, Comparable, Sendable {
    /// What goes over the wire and to the disk.
    package let number: Int64
    /// Takes a number from the wire or the disk.
    package init(_ number: Int64) { self.number = number }

    /// No credential was ever there.
    package static let none = Generation(0)
    /// The number after this one.
    package var next: Generation { Generation(number.addingSaturating(1)) }
    package static func < (left: Generation, right: Generation) -> Bool { left.number < right.number }
}
