import CredentialCore
import Secrets
import TestSupport
import Testing

private func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8).span) }

@Suite struct `A credential` {
    private func make(_ id: String?, _ access: String?, issuer: String? = nil) -> Result<
        Credential, Credential.Failure
    > {
        Result { () throws(Credential.Failure) in
            try Credential(idToken: id.map(secret), accessToken: access.map(secret), issuer: issuer)
        }
    }

    @Test(
        arguments: [
            ("id", nil, "id", nil), (nil, "access", "access", nil), ("", "access", "access", nil),
            ("id", "", "id", nil), ("id", "access", "id", "access"), ("same", "same", "same", nil),
        ] as [(String?, String?, String, String?)])
    func `bearer and companion are those of the table (R8, R11 to R14)`(
        _ id: String?, _ access: String?, _ bearer: String, _ companion: String?
    ) throws {
        let credential = try make(id, access).get()
        #expect(credential.bearer.isEqual(to: secret(bearer)))
        #expect((credential.companion == nil) == (companion == nil))
        if let companion { #expect(credential.companion?.isEqual(to: secret(companion)) == true) }
    }

    @Test func `without a token it is empty (R9)`() {
        for (id, access) in [(nil, nil), ("", ""), (nil, ""), ("", nil)] as [(String?, String?)] {
            #expect(throws: Credential.Failure.empty) { try make(id, access, issuer: "me").get() }
        }
    }

    @Test func `no byte that would leave its header is taken`() {
        for byte in UInt8.min ... .max {
            let bytes: [UInt8] = [0x61, byte, 0x62]
            let isAllowed = (0x20...0x7E).contains(byte)
            let token = SecretBytes(copying: bytes.span)
            #expect(((try? Credential(idToken: token, accessToken: nil)) != nil) == isAllowed)
            #expect(((try? Credential(idToken: nil, accessToken: token)) != nil) == isAllowed)
        }
        #expect(throws: Credential.Failure.malformed(field: .accessToken)) { try make("a", "b\r\n").get() }
        #expect(throws: Credential.Failure.malformed(field: .issuer)) {
            try make("a", nil, issuer: "https://x\n").get()
        }
    }

    @Test func `a token of 256 KiB is taken, one byte more is not`() {
        let limit = 256 * 1024
        #expect((try? make(String(repeating: "a", count: limit), nil).get()) != nil)
        #expect(throws: Credential.Failure.tooLarge(field: .idToken, length: limit + 1)) {
            try make(String(repeating: "a", count: limit + 1), nil).get()
        }
        #expect(throws: Credential.Failure.tooLarge(field: .issuer, length: 2049)) {
            try make("a", nil, issuer: String(repeating: "a", count: 2049)).get()
        }
    }
}

@Suite struct `Account names` {
    @Test(arguments: ["a", "A.b_c@d-e", "0", "_", "@", "a.", String(repeating: "x", count: 64)])
    func `are these`(_ text: String) { #expect(AccountName(text)?.text == text) }

    @Test(arguments: [
        "", ".a", "-a", "..", ".", "-", "a b", "a/b", "a\n", "a\u{0}", "ä", "a\u{301}", "a:b", "*", "a%",
        String(repeating: "x", count: 65),
    ])
    func `are not these`(_ text: String) { #expect(AccountName(text) == nil) }

    @Test func `have an alphabet of 66 bytes`() {
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-".utf8)
        for byte in UInt8.min ... .max {
            let bytes: [UInt8] = [0x61, byte]
            let isValid = AccountName.isValid(bytes.span)
            #expect(isValid == allowed.contains(byte))
        }
    }
}

@Suite struct `base64url` {
    private func decoded(_ text: String) -> [UInt8]? {
        Base64URL.decode(Array(text.utf8).span)?.withSpan { span in
            var bytes: [UInt8] = []
            for index in 0..<span.count { bytes.append(span[index]) }
            return bytes
        }
    }

    @Test(arguments: [
        ("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob"), ("Zm9vYmFy", "foobar"),
    ])
    func `decodes (RFC 4648 section 10)`(_ text: String, _ plain: String) {
        #expect(decoded(text) == Array(plain.utf8))
    }

    @Test(arguments: ["Z", "Zm9vY", "Zg==", "Zh", "Zm9", "Zm9vYh", "a+b/", "Zm 9v", "Zm9v\n", "Zä8", "YWJ="])
    func `refuses padding, other alphabets and bits that are not zero`(_ text: String) {
        #expect(decoded(text) == nil)
        let isValid = Base64URL.isValid(Array(text.utf8).span)
        #expect(!isValid)
    }

    private func check(_ text: [UInt8]) {
        let isDecoded = Base64URL.decode(text.span) != nil
        let isValid = Base64URL.isValid(text.span)
        if isDecoded != isValid { Issue.record("\(text)") }
    }

    @Test func `both readers agree on every text of two and three characters`() {
        let alphabet = Array("AgQwz019-_=+/ .".utf8)
        for first in alphabet {
            for second in alphabet {
                let two = [first, second]
                check(two)
                for third in alphabet {
                    check([first, second, third])
                }
            }
        }
    }
}

@Suite struct `JWT, unverified` {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func encoded(_ text: String) -> String {
        var out: [UInt8] = []
        var bits = 0
        var value: UInt32 = 0
        for byte in text.utf8 {
            value = value << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                out.append(alphabet[Int(value >> UInt32(bits) & 63)])
            }
            value &= 0xFFFF
        }
        if bits > 0 { out.append(alphabet[Int(value << UInt32(6 - bits) & 63)]) }
        return String(decoding: out, as: UTF8.self)
    }

    private static func jwt(
        _ payload: String, header: String = #"{"alg":"HS256"}"#, signature: String = "c2ln"
    )
        -> SecretBytes
    {
        secret(encoded(header) + "." + encoded(payload) + "." + signature)
    }

    @Test(
        arguments: [
            (#"{"exp":1800000000}"#, .at(WallTime(seconds: 1_800_000_000))),
            (#"{"exp":1800000000.9}"#, .at(WallTime(seconds: 1_800_000_000))),
            (#"{"\u0065xp":17}"#, .at(WallTime(seconds: 17))),
            (#"{"exp":1800000000000}"#, .implausible), (#"{"exp":"17"}"#, .implausible),
            (#"{"exp":true}"#, .implausible), (#"{"exp":[]}"#, .implausible), (#"{"exp":{}}"#, .implausible),
            (#"{"exp":1e300}"#, .implausible), (#"{"exp":1e400}"#, .implausible),
            (#"{"exp":9223372036854775808}"#, .implausible), (#"{"exp":null}"#, .absent), (#"{}"#, .absent),
            (#"{"sub":{"exp":5}}"#, .absent), (#"{"exp":-5}"#, .at(.distantPast)),
            (#"{"exp":0}"#, .at(.distantPast)),
        ] as [(String, ExpiryReading)])
    func `R37: says when it ends`(_ payload: String, _ exp: ExpiryReading) {
        #expect(UnverifiedJWT(Self.jwt(payload))?.exp == exp)
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b.c", "e30", "e30.e30", "e30.e30.e30.e30", "e30.e30.e30.e30.e30",
        "e30=.e30.c2ln",
        "e30.e30=.c2ln", "e30.e30.c2ln=", "e30.e30.c2l", "e30.e31.", "e30 .e30.", "e30.e30.\n", "W10.e30.",
        "e30.W10.",
        "e30.bnVsbA.", "+30.e30.", ".e30.c2ln", "e30..c2ln",
    ])
    func `is opaque when it is not strictly one`(_ token: String) {
        #expect(UnverifiedJWT(secret(token)) == nil)
    }

    @Test func `an empty signature is still readable, and says nothing of trust`() {
        #expect(UnverifiedJWT(secret("e30.e30."))?.exp == .absent)
    }

    @Test func `duplicate names, depth, bad UTF-8 and trailing text make it opaque`() {
        #expect(UnverifiedJWT(Self.jwt(#"{"exp":1,"exp":2}"#)) == nil)
        #expect(UnverifiedJWT(Self.jwt(#"{"exp":1,"\u0065xp":2}"#)) == nil)
        #expect(UnverifiedJWT(Self.jwt("{}", header: #"{"a":1,"a":1}"#)) == nil)
        #expect(UnverifiedJWT(Self.jwt(#"{"exp":1} x"#)) == nil)
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(UnverifiedJWT(Self.jwt(#"{"a":"# + deep + "}")) == nil)
        #expect(UnverifiedJWT(secret("e30._w.")) == nil)
    }

    @Test func `dots alone cost nothing, and what is too large is not looked at`() {
        #expect(UnverifiedJWT(secret(String(repeating: ".", count: 60 * 1024))) == nil)
        let long = "e30.e30." + String(repeating: "A", count: 256 * 1024)
        #expect(UnverifiedJWT(secret(long)) == nil)
    }

    @Test func `no bytes make it trap`() {
        var random = SeededGenerator.announced(for: "unverified JWT")
        let pieces = ["e30", ".", "eyJleHAiOjF9", "=", "-", "_", "A", "\u{0}", "eyJleHAiOjFlNDAwfQ", "é"]
        for _ in 0..<2000 {
            let text = (0..<(random.next() % 8)).map { _ in pieces[Int(random.next() % 10)] }.joined()
            _ = UnverifiedJWT(secret(text))
        }
    }
}

@Suite struct `RFC 3339` {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29T00:00:00Z", 951_782_400),
            ("2027-01-15T08:00:00Z", 1_800_000_000),
            ("2027-01-15t08:00:00z", 1_800_000_000), ("2027-01-15T08:00:00.999999999999Z", 1_800_000_000),
            ("2027-01-15T09:30:00+01:30", 1_800_000_000), ("2027-01-15T03:00:00-05:00", 1_800_000_000),
            // The same local hour twice, as clocks go back in New York: only the offset tells them apart.
            ("2026-11-01T01:30:00-04:00", 1_793_511_000), ("2026-11-01T01:30:00-05:00", 1_793_514_600),
            ("2016-12-31T23:59:60Z", 1_483_228_799), ("1969-12-31T23:59:59Z", -1),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("2024-02-29T12:00:00-00:00", 1_709_208_000),
        ] as [(String, Int64)])
    func `reads`(_ text: String, _ seconds: Int64) {
        #expect(RFC3339.parse(text) == WallTime(seconds: seconds))
    }

    @Test(arguments: [
        "", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15 08:00:00Z", "2027-01-15T08:00Z",
        "2027-1-15T08:00:00Z",
        "1900-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2027-04-31T00:00:00Z", "2027-00-01T00:00:00Z",
        "2027-13-01T00:00:00Z", "2027-01-00T00:00:00Z", "2027-01-32T00:00:00Z", "2027-01-15T24:00:00Z",
        "2027-01-15T23:60:00Z", "2027-01-15T23:59:61Z", "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00,5Z",
        "2027-01-15T08:00:00+24:00", "2027-01-15T08:00:00+01:60", "2027-01-15T08:00:00+0100",
        "2027-01-15T08:00:00+01", "2027-01-15T08:00:00ZZ", "2027-01-15T08:00:00Z ", "+027-01-15T08:00:00Z",
        "2027-01-15T08:00:0١Z", "12027-01-15T08:00:00Z",
    ])
    func `refuses`(_ text: String) { #expect(RFC3339.parse(text) == nil) }

    @Test func `reads back what it writes, over all the years`() throws {
        var random = SeededGenerator.announced(for: "RFC 3339")
        for _ in 0..<3000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &random)
            let moment = WallTime(seconds: seconds)
            let text = try #require(RFC3339.text(moment))
            #expect(text.utf8.count == 20)
            #expect(RFC3339.parse(text) == moment)
        }
        #expect(RFC3339.text(WallTime(seconds: 253_402_300_800)) == nil)
        #expect(RFC3339.text(WallTime(milliseconds: .min)) == nil)
        #expect(RFC3339.text(.distantFuture) == nil)
    }

    @Test func `every day of eight hundred years follows the one before`() {
        var days = RFC3339.daysSinceEpoch(1600, 1, 1)
        for year: Int64 in 1600..<2400 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (month, length) in zip(
                Int64(1)..., [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
            {
                #expect(RFC3339.daysSinceEpoch(year, month, 1) == days)
                days += Int64(length)
            }
        }
    }
}
