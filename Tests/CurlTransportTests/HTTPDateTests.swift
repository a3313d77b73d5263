import CredentialCore
import CurlTransport
import Testing

@Suite struct `HTTP date` {
    private let now = WallTime(seconds: 1_790_000_000)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Friday, 01-Jan-77 00:00:00 GMT", 220_924_800),
            ("Wednesday, 01-Jan-76 00:00:00 GMT", 3_345_062_400),
        ] as [(String, Int64)])
    func `the three forms are read`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.parse(text, now: now) == WallTime(seconds: seconds))
    }

    @Test(arguments: [
        "", "now", "120", "Sun, 06 Nov 1994 08:49:37 +0200", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 GMT", "Sun, 06 Nov Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 199 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 08:49:37 GMT", "06 07 Nov 1994 08:49:37 GMT",
    ])
    func `anything else is no date`(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }
}

@Suite struct `Response head` {
    private let now = WallTime(seconds: 1_790_000_000)

    private func head(_ lines: String...) -> ResponseHead {
        var head = ResponseHead()
        for line in lines {
            let bytes = Array((line + "\r\n").utf8)
            let isTaken = head.take(bytes.span)
            #expect(isTaken)
        }
        return head
    }

    @Test(
        arguments: [
            ("7", 7), ("0", 0), ("86401", 86400), ("99999999999999999999999", 86400), ("-1", nil),
            ("1.5", nil),
            ("", nil), ("soon", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ] as [(String, Int64?)])
    func `a delay lies between nothing and a day, or is none`(_ value: String, _ seconds: Int64?) {
        #expect(
            head("Retry-After: " + value).retryDelay(now: now) == seconds.map { Milliseconds.seconds($0) })
    }

    @Test func `a date to come back at counts from the response's own date`() {
        let later = "RETRY-AFTER:Sun, 06 Nov 1994 08:51:37 GMT"
        #expect(head("date:Sun, 06 Nov 1994 08:49:37 GMT", later).retryDelay(now: now) == .seconds(120))
        #expect(head("Date: nonsense", later).retryDelay(now: now) == .zero)
    }

    @Test func `a media type with a control character is none`() {
        #expect(head("Content-Type:\t text/plain ").contentType == "text/plain")
        #expect(head("Content-Type: text/\u{1}plain").contentType == nil)
        #expect(head("Content-Type: é").contentType == nil)
    }
}
