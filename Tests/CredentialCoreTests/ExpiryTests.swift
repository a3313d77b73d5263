import CredentialCore
import JSON
import TestSupport
import Testing

private let past = ExpiryReading.at(.distantPast)

private func at(_ seconds: Int64) -> ExpiryReading { .at(WallTime(seconds: seconds)) }

@Suite struct `Numbers from outside` {
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let expiresAt: ExpiryReading
        let numericDate: ExpiryReading
        let expiresIn: ExpiryReading
        var testDescription: String { text }

        init(_ text: String, _ expiresAt: ExpiryReading, exp: ExpiryReading, in expiresIn: ExpiryReading) {
            self.text = text
            self.expiresAt = expiresAt
            numericDate = exp
            self.expiresIn = expiresIn
        }
    }

    static let sentAt = WallTime(seconds: 1_800_000_000)
    static let now = at(1_800_000_000)

    static let table: [Row] = [
        Row("null", .absent, exp: .absent, in: .absent),
        Row("true", .implausible, exp: .implausible, in: .implausible),
        Row("[]", .implausible, exp: .implausible, in: .implausible),
        Row("{}", .implausible, exp: .implausible, in: .implausible),
        Row("\"\"", .absent, exp: .implausible, in: .absent),
        Row("\"NaN\"", .implausible, exp: .implausible, in: .implausible),
        Row("\"inf\"", .implausible, exp: .implausible, in: .implausible),
        Row("\"0x10\"", .implausible, exp: .implausible, in: .implausible),
        Row("\"abc\"", .implausible, exp: .implausible, in: .implausible),
        Row("\" 17\"", .implausible, exp: .implausible, in: .implausible),
        Row("\"17\"", at(17), exp: .implausible, in: at(1_800_000_017)),
        Row("\"17.9\"", at(17), exp: .implausible, in: at(1_800_000_017)),
        Row("\"2027-01-15T08:00:00Z\"", at(1_800_000_000), exp: .implausible, in: .implausible),
        Row("\"1969-12-31T23:59:59Z\"", past, exp: .implausible, in: .implausible),
        Row("\"9999-12-31T23:59:59-00:01\"", .implausible, exp: .implausible, in: .implausible),
        Row("-5", past, exp: past, in: now),
        Row("-1e300", past, exp: past, in: now),
        Row("-1e400", past, exp: past, in: now),
        Row("0", past, exp: past, in: now),
        Row("-0", past, exp: past, in: now),
        Row("0.5", past, exp: past, in: now),
        Row("1e-400", past, exp: past, in: now),
        Row("1", at(1), exp: at(1), in: at(1_800_000_001)),
        Row("1.5", at(1), exp: at(1), in: at(1_800_000_001)),
        Row("3599.5", at(3599), exp: at(3599), in: at(1_800_003_599)),
        Row("1.7e9", at(1_700_000_000), exp: at(1_700_000_000), in: at(3_500_000_000)),
        Row("2147483648", at(2_147_483_648), exp: at(2_147_483_648), in: at(3_947_483_648)),
        Row("99999999999", at(99_999_999_999), exp: at(99_999_999_999), in: at(101_799_999_999)),
        Row("99999999999.9", at(99_999_999_999), exp: at(99_999_999_999), in: at(101_799_999_999)),
        Row("1e11", at(100_000_000), exp: at(100_000_000_000), in: at(101_800_000_000)),
        Row("1800000000123", at(1_800_000_000), exp: .implausible, in: .implausible),
        Row("1800000000999.9", at(1_800_000_000), exp: .implausible, in: .implausible),
        Row("253402300799", at(253_402_300), exp: at(253_402_300_799), in: .implausible),
        Row("253402300800", at(253_402_300), exp: .implausible, in: .implausible),
        Row("253402300799000", at(253_402_300_799), exp: .implausible, in: .implausible),
        Row("253402300799001", .implausible, exp: .implausible, in: .implausible),
        Row("9007199254740993", .implausible, exp: .implausible, in: .implausible),
        Row("9223372036854775807", .implausible, exp: .implausible, in: .implausible),
        Row("9223372036854775808", .implausible, exp: .implausible, in: .implausible),
        Row("1000000000000000000", .implausible, exp: .implausible, in: .implausible),
        Row("1e300", .implausible, exp: .implausible, in: .implausible),
        Row("1e400", .implausible, exp: .implausible, in: .implausible),
        Row("\"1e400\"", .implausible, exp: .implausible, in: .implausible),
        Row("\"-1e400\"", past, exp: .implausible, in: now),
    ]

    private func read(_ text: String, _ body: (borrowing JSONValue) -> ExpiryReading) throws -> ExpiryReading
    {
        var document = JSONDocument()
        let bytes = Array(text.utf8)
        return body(try document.parse(bytes.span))
    }

    @Test(arguments: table)
    func `R10: mean what the table says`(_ row: Row) throws {
        #expect(try read(row.text) { ExpiryReading.expiresAt($0) } == row.expiresAt)
        #expect(try read(row.text) { ExpiryReading.numericDate($0) } == row.numericDate)
        #expect(try read(row.text) { ExpiryReading.expiresIn($0, sentAt: Self.sentAt) } == row.expiresIn)
    }

    @Test func `a long string is no number`() {
        #expect(ExpiryReading.expiresAt(text: String(repeating: "1", count: 65)) == .implausible)
    }

    @Test func `any number is read without a trap, and to a moment before the year 10000`() throws {
        var random = SeededGenerator.announced(for: "expiry numbers")
        for _ in 0..<2000 {
            let double = Double(bitPattern: random.next())
            let texts = [
                double.isFinite ? "\(double)" : "1e999", "\(Int64(bitPattern: random.next()))",
                "\(random.next() % 400_000_000_000).\(random.next() % 1000)",
            ]
            for text in texts {
                for reading in [
                    try read(text) { ExpiryReading.expiresAt($0) },
                    try read(text) { ExpiryReading.numericDate($0) },
                    try read(text) { ExpiryReading.expiresIn($0, sentAt: Self.sentAt) },
                    ExpiryReading.expiresAt(text: text),
                ] {
                    if let moment = reading.moment {
                        #expect((0...253_402_300_799).contains(moment.seconds), "\(text)")
                        #expect(moment.milliseconds % 1000 == 0, "\(text)")
                    }
                }
            }
        }
    }

    @Test func `a lifetime counts from when the request was sent, on the clock as it is set now`() throws {
        let sent = Instant(wall: Self.sentAt, boot: BootTime(milliseconds: 50_000))
        // The answer took two seconds, and in between the wall clock was set back by a day.
        let now = Instant(
            wall: Self.sentAt + .seconds(2) - .seconds(86_400), boot: BootTime(milliseconds: 52_000))
        let sentAt = now.wallTime(of: sent.boot)
        #expect(sentAt == Self.sentAt - .seconds(86_400))
        let reading = try read("3600") { ExpiryReading.expiresIn($0, sentAt: sentAt) }
        #expect(reading.moment.map { $0 - now.wall } == .seconds(3598))
    }
}

@Suite struct `The three expiries` {
    @Test func `R36 to R38: the earliest of those known counts, the first named on a tie`() {
        let moments: [WallTime?] = [nil, WallTime(seconds: 10), WallTime(seconds: 20), WallTime(seconds: 30)]
        for backend in moments {
            for hint in moments {
                for exp in moments {
                    let expiries = Expiries(backend: backend, hint: hint, exp: exp)
                    let known = [backend, hint, exp].compactMap(\.self)
                    #expect(expiries.earliest?.at == known.min())
                    let source: ExpirySource? =
                        known.min().map { $0 == backend ? .backend : $0 == hint ? .hint : .exp }
                    #expect(expiries.earliest?.source == source)
                }
            }
        }
    }

    @Test func `R38: backend 3600, hint 600 and exp 300 are due at 270, and each may be missing`() {
        let start = SessionBench.start
        func refreshAt(_ backend: Int64?, _ hint: Int64?, _ exp: Int64?) -> Int64? {
            let expiries = Expiries(
                backend: backend.map { start.wall + .seconds($0) },
                hint: hint.map { start.wall + .seconds($0) },
                exp: exp.map { start.wall + .seconds($0) })
            let schedule = Schedule(expiries: expiries, receivedAt: start, now: start)
            return schedule.refreshAt.map { ($0 - start.wall).count / 1000 }
        }
        #expect(refreshAt(3600, 600, 300) == 270)
        #expect(refreshAt(3600, 600, nil) == 570)
        #expect(refreshAt(3600, nil, 300) == 270)
        #expect(refreshAt(nil, 600, 300) == 270)
        #expect(refreshAt(3600, nil, nil) == 3570)
        #expect(refreshAt(nil, nil, nil) == nil)
    }
}
