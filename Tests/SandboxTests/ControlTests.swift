import Glibc
import Testing

@Suite struct `Journal and control` {
    let sandbox: RunningSandbox

    init() throws { sandbox = try RunningSandbox() }

    @Test func `a request is noted as it came`() throws {
        let before = try sandbox.now()
        _ = try sandbox.call(
            "POST", "/backend/support/token?lifetime_seconds=5&expiry=miss%69ng",
            headers: ["Authorization: Bearer abc", "X-Twice: 1", "X-Twice: 2"], body: "{\"a\":\"\u{1}é\"}")
        let entry = try #require(try sandbox.journal().first)
        #expect(entry["backend"] == .text("support"))
        #expect(entry["scheme"] == .text("http"))
        #expect(entry["method"] == .text("POST"))
        #expect(entry["target"] == .text("/backend/support/token?lifetime_seconds=5&expiry=miss%69ng"))
        #expect(entry["path"] == .text("/backend/support/token"))
        #expect(
            entry["query"]
                == .array([
                    .array([.text("lifetime_seconds"), .text("5")]),
                    .array([.text("expiry"), .text("missing")]),
                ]))
        let headers = entry["headers"]?.elements ?? []
        #expect(headers.contains(.array([.text("Authorization"), .text("Bearer abc")])))
        #expect(headers.filter { $0[0] == .text("X-Twice") }.map { $0[1]?.text } == ["1", "2"])
        #expect(entry["body"] == .text("{\"a\":\"\u{1}é\"}"))
        #expect(entry["body_bytes"] == .number("11"))
        #expect(entry["status"] == .number("200"))
        #expect(entry["fault"] == .null)
        let time = try #require(entry["time_milliseconds"]?.integer)
        #expect((before...(try sandbox.now())).contains(time))
    }

    @Test func `bytes that are no text are shown as text`() throws {
        let connection = try Connection(port: sandbox.port)
        connection.send("POST", "/token", body: [0x61, 0x00, 0xFF, 0x62])
        #expect(connection.receive().status == 200)
        let entry = try #require(try sandbox.journal("default").first)
        #expect(entry["body"] == .text("a\u{0}\u{FFFD}b"))
        #expect(entry["body_bytes"] == .number("4"))
    }

    @Test func `of a large body the first 64 KiB are kept`() throws {
        _ = try sandbox.call("POST", "/backend/support/token", body: String(repeating: "x", count: 3_000_000))
        let entry = try #require(try sandbox.journal().first)
        #expect(entry["body"]?.text?.utf8.count == 65_536)
        #expect(entry["body_bytes"] == .number("3000000"))
    }

    @Test func `a fault stands beside the request that met it`() throws {
        _ = try sandbox.met(#"{"fault":"status","status":503}"#)
        _ = try sandbox.met(#"{"fault":"reset","at":"start"}"#)
        _ = try sandbox.met(#"{"fault":"reset","at":"body"}"#)
        let entries = try sandbox.journal()
        #expect(entries.map { $0["fault"] } == [.text("status"), .text("reset"), .text("reset")])
        #expect(entries.map { $0["status"] } == [.number("503"), .null, .number("200")])
        #expect(entries.map { $0["sequence"] } == [.number("1"), .number("2"), .number("3")])
    }

    @Test func `counters add up, and control requests are not among them`() throws {
        _ = try sandbox.token("a")
        _ = try sandbox.token("b")
        _ = try sandbox.met(#"{"fault":"empty"}"#)
        _ = try sandbox.call("GET", "/favicon.ico")
        let counters = try sandbox.json("GET", "/_sandbox/counters")
        #expect(counters["requests"] == .number("4"))
        #expect(counters["faults"] == .number("1"))
        #expect(counters["unknown_routes"] == .number("1"))
        #expect(
            counters["statuses"] == .object(["200": .number("2"), "400": .number("1"), "404": .number("1")]))
        #expect(counters["backend"]?.keys == ["a", "b", "support"])
        #expect(counters["backend"]?["a"]?["requests"] == .number("1"))
        #expect(counters["backend"]?["support"]?["faults"] == .number("1"))
        #expect(try sandbox.json("GET", "/_sandbox/journal")["entries"]?.elements.count == 4)
    }

    @Test func `one journal is cleared without the other`() throws {
        _ = try sandbox.token("a")
        _ = try sandbox.token("b")
        _ = try sandbox.json("DELETE", "/_sandbox/journal?backend=a")
        #expect(try sandbox.journal("a").isEmpty)
        #expect(try sandbox.journal("b").count == 1)
        _ = try sandbox.json("DELETE", "/_sandbox/journal")
        #expect(try sandbox.journal("b").isEmpty)
        #expect(try sandbox.json("GET", "/_sandbox/counters")["requests"] == .number("0"))
    }

    @Test func `a wait ends when the request arrives, also one that hangs`() throws {
        let waiting = try Connection(port: sandbox.port)
        waiting.send("GET", "/_sandbox/wait?backend=support&count=2&timeout=60")
        #expect(waiting.receive(silence: 100).bytes.isEmpty)
        _ = try sandbox.token()
        #expect(waiting.receive(silence: 100).bytes.isEmpty)
        try sandbox.script(#"{"fault":"hang"}"#)
        let hanging = try Connection(port: sandbox.port)
        hanging.send("POST", "/backend/support/token")
        let wire = waiting.receive()
        #expect(wire.status == 200)
        #expect(try Tree(wire.body)["requests"] == .number("2"))
    }

    @Test func `a wait that is in vain is 408`() throws {
        let answer = try sandbox.json("GET", "/_sandbox/wait?backend=support&count=2&timeout=0", status: 408)
        #expect(answer["requests"] == .number("0"))
    }

    @Test func `settings read back as they were set`() throws {
        let settings = #"""
            {"lifetime_seconds":5,"expiry":"missing","token_format":"jwt","token_bytes":900,"fresh":false,
             "fields":{"id_token":"a","issuer":"b"},"issuer":"c","date_offset_seconds":-7,
             "require_headers":{"X-Key":"d"},"expiry_field":"e"}
            """#
        try sandbox.set(settings)
        let read = try sandbox.json("GET", "/_sandbox/backend/support")
        #expect(read == (try Tree(Array(settings.utf8))))
        try sandbox.set("{}")
        let defaults = try sandbox.json("GET", "/_sandbox/backend/support")
        #expect(defaults["lifetime_seconds"] == .number("3600"))
        #expect(defaults["fields"] == .object(["id_token": .text("token")]))
    }

    @Test func `deleting a backend deletes all that was said of it`() throws {
        try sandbox.set(#"{"lifetime_seconds":5}"#)
        try sandbox.script(#"{"fault":"empty","times":"forever"}"#)
        _ = try sandbox.call("POST", "/backend/support/token")
        _ = try sandbox.json("DELETE", "/_sandbox/backend/support")
        #expect(try sandbox.journal().isEmpty)
        #expect(try sandbox.token()["expires_in"] == .number("3600"))
        _ = try sandbox.json("DELETE", "/_sandbox")
        #expect(try sandbox.json("GET", "/_sandbox/counters")["requests"] == .number("0"))
    }

    @Test(arguments: [
        (
            "PUT", "/_sandbox/backend/support", #"{"lifetime":5}"#,
            #"unknown key "lifetime"; known: lifetime_seconds"#
        ),
        ("PUT", "/_sandbox/backend/support", #"{"expiry":"jwt"}"#, "known: expires_in, expires_in_string"),
        ("PUT", "/_sandbox/backend/support", #"{"token_bytes":-1}"#, "between 0 and"),
        ("PUT", "/_sandbox/backend/support", #"{"fresh":1}"#, "must be true or false"),
        (
            "PUT", "/_sandbox/backend/support", #"{"fields":{"id_token":1}}"#,
            #""fields.id_token" must be a string"#
        ),
        ("PUT", "/_sandbox/backend/support", #"{"fields":{"token":"t"}}"#, "known: id_token"),
        ("PUT", "/_sandbox/backend/support", #"{"require_headers":{"a b":"c"}}"#, "valid header field names"),
        ("PUT", "/_sandbox/backend/support", "[]", "must be a JSON object"),
        ("PUT", "/_sandbox/backend/support", "{\"issuer\":\"\u{1}\"}", "not JSON"),
        ("PUT", "/_sandbox/backend/.hidden", "{}", "is no name"),
        ("PUT", "/_sandbox/clock", "{}", #""offset_seconds" is missing"#),
        ("PUT", "/_sandbox/clock", #"{"offset_seconds":99999999999}"#, "must be between"),
        ("GET", "/_sandbox/journal?bakend=a", "", #"unknown key "bakend""#),
        ("GET", "/_sandbox/wait?count=x", "", "must be a whole number"),
    ])
    func `bad control input is 400 and says why`(
        method: String, target: String, body: String, message: String
    ) throws {
        let answer = try sandbox.json(method, target, body: body, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true, "\(answer)")
    }

    @Test(arguments: [
        ("GET", "/_sandbox/"), ("POST", "/_sandbox/journal"), ("GET", "/_sandbox/frontend/a"),
        ("PATCH", "/_sandbox/backend/a"), ("GET", "/_sandbox/backend/a/b"),
    ])
    func `an unknown control route is 404`(method: String, target: String) throws {
        _ = try sandbox.json(method, target, body: "", status: 404)
    }

    @Test func `a control body beyond a mebibyte is refused`() throws {
        let body = "{\"issuer\":\"" + String(repeating: "x", count: 1 << 20) + "\"}"
        let answer = try sandbox.json("PUT", "/_sandbox/backend/support", body: body, status: 400)
        #expect(answer["error"] == .text("the body is larger than 1 MiB"))
    }

    @Test func `a connection serves one request after another`() throws {
        let connection = try Connection(port: sandbox.port)
        for _ in 0..<3 { connection.send("POST", "/backend/support/token", close: false) }
        connection.send("POST", "/backend/support/token")
        let text = String(decoding: connection.receive().bytes, as: UTF8.self)
        #expect(text.split(separator: "HTTP/1.1 200 OK").count == 4)
        #expect(try sandbox.journal().count == 4)
    }
}
