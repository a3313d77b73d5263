import CredentialCore
import Testing

@Suite struct `HTTP URL` {
    @Test(arguments: [
        ("https://example.com", "https://example.com:443"),
        ("https://example.com/a?b=c@d", "https://example.com:443"),
        ("https://Example.COM:8443/", "https://example.com:8443"),
        ("https://example.com?x", "https://example.com:443"),
        ("https://a_b.example", "https://a_b.example:443"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example:443"),
        ("https://10.0.0.1:1/", "https://10.0.0.1:1"),
        ("https://[2001:db8::1]:65535/", "https://[2001:db8::1]:65535"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080"),
        ("http://127.255.0.9/", "http://127.255.0.9:80"),
        ("http://[::1]/", "http://[::1]:80"),
    ])
    func `is taken as it stands`(_ text: String, _ origin: String) throws {
        let url = try HTTPURL(text)
        #expect(url.text == text)
        #expect(url.origin == origin)
    }

    @Test(arguments: [
        ("https://Bot.example:8443/x", "bot.example"), ("http://127.0.0.1:8080/x", "127.0.0.1"),
        ("https://[2001:db8::1]/", "[2001:db8::1]"),
    ])
    func `says where it leads`(_ text: String, _ host: String) throws {
        #expect(try HTTPURL(text).host == host)
    }

    @Test(
        arguments: [
            ("", .notAbsolute), ("example.com", .notAbsolute), ("/path", .notAbsolute),
            ("https:/example.com", .notAbsolute),
            ("ftp://example.com", .schemeNotAllowed), ("HTTPS://example.com", .schemeNotAllowed),
            ("file:///etc/passwd", .schemeNotAllowed),
            ("http://example.com", .plainTextNotLoopback), ("http://localhost", .plainTextNotLoopback),
            ("http://128.0.0.1", .plainTextNotLoopback),
            ("http://127.0.0.1.example.com", .plainTextNotLoopback),
            ("http://[::2]", .plainTextNotLoopback), ("http://0.0.0.0", .plainTextNotLoopback),
            ("http://[::ffff:7f00:1]", .plainTextNotLoopback),
            ("https://user@example.com", .userInformation), ("https://a:b@example.com/", .userInformation),
            ("https://@example.com", .userInformation), ("https://example.com:80@evil", .userInformation),
            ("https://example.com/#x", .fragment), ("https://example.com#@evil", .fragment),
            ("https://", .badHost), ("https:///x", .badHost), ("https://:443", .badHost),
            ("https://.", .badHost),
            ("https://example.com.", .badHost), ("https://a..b", .badHost), ("https://-a.b", .badHost),
            ("https://a-.b", .badHost), ("https://a%2eb", .badHost), ("https://a,b", .badHost),
            ("https://127.1", .badHost), ("https://0x7f.1", .badHost), ("https://0x7f000001", .badHost),
            ("https://2130706433", .badHost), ("https://127.0.0.01", .badHost),
            ("https://127.0.0.256", .badHost),
            ("https://1.2.3.4.5", .badHost), ("https://a.0x1", .badHost), ("http://0177.0.0.1", .badHost),
            ("http://127.0.0.1.", .badHost),
            ("https://[::1", .badHost), ("https://[]", .badHost), ("https://[::1%25lo]", .badHost),
            ("https://[0:0:0:0:0:0:0:1]", .badHost), ("https://[::01]", .badHost),
            ("https://[::A]", .badHost),
            ("https://[::127.0.0.1]", .badHost), ("https://[1::2::3]", .badHost), ("https://[:1]", .badHost),
            ("https://[1:2:3:4:5:6:7:8:9]", .badHost), ("https://[1:2:3:4:5:6:7::8]", .badHost),
            ("https://[:::]", .badHost), ("https://[1:]", .badHost), ("https://[12345::]", .badHost),
            ("https://[+1::]", .badHost),
            ("https://a:0", .badPort), ("https://a:65536", .badPort), ("https://a:080", .badPort),
            ("https://a:", .badPort),
            ("https://a:+80", .badPort), ("https://a:-1", .badPort), ("https://a:8a", .badPort),
            ("https://a:80:90", .badPort), ("https://[::1]x", .badPort), ("https://[::1]443", .badPort),
            ("https://a:123456", .badPort),
            ("https://a\\b", .badByte), ("https://a b", .badByte), (" https://a", .badByte),
            ("https://a\n", .badByte),
            ("https://a\r\nHost: b", .badByte), ("https://a\u{0}", .badByte),
            ("https://\u{430}.example", .badByte),
            ("https://a/\u{7f}", .badByte), ("https://a\u{3002}b", .badByte),
        ] as [(String, HTTPURL.Failure)])
    func `is refused`(_ text: String, _ failure: HTTPURL.Failure) {
        #expect(throws: failure) { try HTTPURL(text) }
    }

    @Test(arguments: [
        "::", "::1", "1::", "1:0:0:2::3", "2001:db8::1", "1:2:3:4:5:6:7:8", "1:0:3:4:5:6:7:8", "0:0:1::",
    ])
    func `one spelling of an IPv6 address is taken`(_ address: String) throws {
        let isShortest = address != "0:0:1::"
        #expect((try? HTTPURL("https://[\(address)]/")) != nil || !isShortest)
    }

    @Test func `2048 bytes are taken, one more is not`() throws {
        let prefix = "https://example.com/"
        let text = prefix + String(repeating: "a", count: 2048 - prefix.utf8.count)
        #expect(try HTTPURL(text).text == text)
        #expect(throws: HTTPURL.Failure.tooLong) { try HTTPURL(text + "a") }
        let label = String(repeating: "a", count: 63)
        #expect(try HTTPURL("https://\(label).example").text.utf8.count == 8 + 63 + 8)
        #expect(throws: HTTPURL.Failure.badHost) { try HTTPURL("https://\(label)a.example") }
        #expect(throws: HTTPURL.Failure.badHost) {
            try HTTPURL("https://\(label).\(label).\(label).\(label)")
        }
    }
}
