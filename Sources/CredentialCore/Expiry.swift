package import JSON

/// Which of the three sources of expiry won.
package enum ExpirySource: String, Sendable, CaseIterable {
    /// What the platform answered when the credential was bound or introspected.
    case backend
    /// `expires_at` given with the credential, or `expires_in` counted from when the request was sent.
    case hint
    /// `exp` of the bearer, when that is a JWT (RFC 7519 §4.1.4).
    case exp
}

/// The three expiries of a credential, each of which may be unknown; the earliest that is known counts.
package struct Expiries: Equatable, Sendable {
    /// What the platform answered; nil: unknown.
    package var backend: WallTime?
    /// What came with the credential; nil: unknown.
    package var hint: WallTime?
    /// What the bearer says of itself; nil: unknown.
    package var exp: WallTime?

    /// Takes what is known.
    package init(backend: WallTime? = nil, hint: WallTime? = nil, exp: WallTime? = nil) {
        self.backend = backend
        self.hint = hint
        self.exp = exp
    }

    /// None of the three is known.
    package static let unknown = Expiries()

    /// The earliest known expiry and its source; on a tie the source that was named first.
    ///
    /// Nil: it does not expire.
    package var earliest: (at: WallTime, source: ExpirySource)? {
        let known: [(WallTime?, ExpirySource)] = [(backend, .backend), (hint, .hint), (exp, .exp)]
        var best: (at: WallTime, source: ExpirySource)?
        for (at, source) in known {
            guard let at else { continue }
            if let current = best, current.at <= at { continue }
            best = (at, source)
        }
        return best
    }
}

/// What a number from outside says about an expiry.
package enum ExpiryReading: Equatable, Sendable {
    case at(WallTime)
    /// Not there, or null.
    case absent
    /// There, but not a moment: unknown, with a warning.
    case implausible

    /// The moment, where there is one.
    package var moment: WallTime? {
        if case .at(let moment) = self { moment } else { nil }
    }

    /// 9999-12-31T23:59:59Z in seconds: above it a number is no date.
    static let latestSeconds: Double = 253_402_300_799
    /// From here on a number of seconds would be after the year 5138: it is milliseconds.
    static let firstMilliseconds: Double = 1e11

    /// Reads `expires_at`: seconds or milliseconds since the epoch, a fraction, a numeric string, or RFC 3339.
    package static func expiresAt(_ value: borrowing JSONValue) -> ExpiryReading {
        switch value.kind {
        case .null: .absent
        case .number: epoch(value.double, allowsMilliseconds: true)
        case .string:
            if let text = value.string {
                expiresAt(text: text)
            } else {
                .implausible
            }
        default: .implausible
        }
    }

    /// Reads `expires_at` from a text, as of a command line or of a string member.
    package static func expiresAt(text: String) -> ExpiryReading {
        if text.isEmpty { return .absent }
        if text.utf8.count > 64 { return .implausible }
        if let moment = RFC3339.parse(text) {
            return epoch(Double(moment.seconds), allowsMilliseconds: false)
        }
        guard let number = decimal(text) else { return .implausible }
        return epoch(number, allowsMilliseconds: true)
    }

    /// Reads `expires_in`, seconds counted from `sentAt`: the moment at which the request was sent (RFC 6749 §5.1).
    ///
    /// `sentAt` is on the wall clock as it is set now, or a clock that was set in between would lengthen a token's life:
    /// `Instant.wallTime(of:)`.
    package static func expiresIn(_ value: borrowing JSONValue, sentAt: WallTime) -> ExpiryReading {
        let number: Double?
        switch value.kind {
        case .null: return .absent
        case .number: number = value.double
        case .string:
            guard let text = value.string, !text.isEmpty else { return .absent }
            number = text.utf8.count <= 64 ? decimal(text) : nil
        default: return .implausible
        }
        guard let number, number <= latestSeconds else { return .implausible }
        // Not positive: it has passed. No further back than the request, so that arithmetic stays small.
        guard number > 0 else { return .at(sentAt) }
        guard let seconds = Int64(exactly: number.rounded(.down)) else { return .implausible }
        let moment = sentAt + .seconds(seconds)
        return Double(moment.seconds) > latestSeconds ? .implausible : .at(moment)
    }

    /// Reads the `exp` of a JWT: a NumericDate, seconds only, fractions floored (RFC 7519 §2).
    package static func numericDate(_ value: borrowing JSONValue) -> ExpiryReading {
        switch value.kind {
        case .null: .absent
        case .number: epoch(value.double, allowsMilliseconds: false)
        default: .implausible
        }
    }

    private static func epoch(_ number: Double?, allowsMilliseconds: Bool) -> ExpiryReading {
        guard let number, !number.isNaN else { return .implausible }
        guard number > 0 else { return .at(.distantPast) }
        if allowsMilliseconds, number >= firstMilliseconds {
            guard number <= latestSeconds * 1000, let milliseconds = Int64(exactly: number.rounded(.down))
            else {
                return .implausible
            }
            return .at(WallTime(seconds: WallTime(milliseconds: milliseconds).seconds))
        }
        guard number <= latestSeconds, let seconds = Int64(exactly: number.rounded(.down)) else {
            return .implausible
        }
        return .at(WallTime(seconds: seconds))
    }

    // Only what a JSON number could be: `Double` alone would read "inf", "nan" and hexadecimal too.
    private static func decimal(_ text: String) -> Double? {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "+"),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                continue
            default: return nil
            }
        }
        return Double(text)
    }
}
