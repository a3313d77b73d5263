import Glibc
import JSON
import Testing

/// Each fault as the client sees it on the wire.
@Suite struct `Scripted faults` {
    let sandbox: RunningSandbox

    init() throws { sandbox = try RunningSandbox() }

    @Test func `a status with body, type and header fields`() throws {
        let wire = try sandbox.met(
            #"{"fault":"status","status":503,"body":"busy","content_type":"text/plain","headers":{"X-Why":"test"}}"#
        )
        #expect(wire.status == 503)
        #expect(wire.header("Content-Type") == "text/plain")
        #expect(wire.header("X-Why") == "test")
        #expect(wire.bodyText == "busy")
    }

    @Test(arguments: [
        #"{"fault":"status","status":204,"body":"none expected"}"#,
        #"{"fault":"status","status":200,"body":"{}","headers":{"Date":"yesterday","Content-Length":"7"}}"#,
    ])
    func `a status that the library would not send`(fault: String) throws {
        let wire = try sandbox.met(fault)
        #expect(wire.status == (fault.contains("204") ? 204 : 200))
        #expect(wire.ending == .closed)
        if fault.contains("yesterday") { #expect(wire.header("Date") == "yesterday") }
    }

    @Test func `a delay, then the true answer`() throws {
        let wire = try sandbox.met(#"{"fault":"delay","delay_milliseconds":250}"#)
        #expect(wire.milliseconds >= 240)
        #expect(wire.status == 200)
        #expect(try Tree(wire.body)["expires_in"] == .number("3600"))
    }

    @Test func `any fault can come late`() throws {
        let wire = try sandbox.met(#"{"fault":"status","status":500,"delay_milliseconds":250}"#)
        #expect(wire.milliseconds >= 240)
        #expect(wire.status == 500)
    }

    @Test(arguments: ["start", "headers", "body"]) func `a hang, before or within the answer`(place: String)
        throws
    {
        let wire = try sandbox.met(#"{"fault":"hang","at":"\#(place)"}"#, silence: 200)
        #expect(wire.ending == .silent)
        expectCut(wire, place)
    }

    @Test(arguments: ["start", "headers", "body"]) func `a reset, before or within the answer`(place: String)
        throws
    {
        let wire = try sandbox.met(#"{"fault":"reset","at":"\#(place)"}"#)
        #expect(wire.ending == .reset)
        expectCut(wire, place)
    }

    private func expectCut(_ wire: Wire, _ place: String) {
        switch place {
        case "start": #expect(wire.bytes.isEmpty)
        case "headers":
            #expect(wire.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(!wire.isHeadComplete)
        default:
            #expect(wire.status == 200)
            #expect(!wire.body.isEmpty)
            #expect(Int(wire.header("Content-Length") ?? "") ?? 0 > wire.body.count)
        }
    }

    @Test func `a body that drips`() throws {
        let wire = try sandbox.met(#"{"fault":"drip","interval_milliseconds":2}"#)
        #expect(wire.ending == .closed)
        #expect(wire.header("Content-Length") == String(wire.body.count))
        #expect(try Tree(wire.body).keys == ["expires_in", "token"])
        #expect(wire.milliseconds >= 2 * Int64(wire.body.count - 1))
        #expect(wire.pieces > 20)
    }

    @Test func `an answer that drips from its first byte`() throws {
        let wire = try sandbox.met(#"{"fault":"drip","at":"headers","bytes":3,"interval_milliseconds":2}"#)
        #expect(wire.status == 200)
        #expect(try Tree(wire.body).keys == ["expires_in", "token"])
        #expect(wire.milliseconds >= 2 * Int64(wire.bytes.count / 3 - 1))
    }

    @Test func `JSON that is cut, with the length it then has`() throws {
        let wire = try sandbox.met(#"{"fault":"truncated"}"#)
        #expect(wire.ending == .closed)
        #expect(wire.header("Content-Length") == String(wire.body.count))
        #expect(wire.bodyText.hasPrefix(#"{"token":""#))
        #expect(throws: JSONFailure.unexpectedEnd) { try Tree(wire.body) }
    }

    @Test func `JSON that is cut, with the length it should have had`() throws {
        let wire = try sandbox.met(#"{"fault":"truncated","claims_whole":true}"#)
        #expect(wire.ending == .closed)
        #expect(Int(wire.header("Content-Length") ?? "") ?? 0 > wire.body.count)
    }

    @Test(arguments: [true, false]) func `a huge body, with and without its length`(isDeclared: Bool) throws {
        let wire = try sandbox.met(#"{"fault":"huge","megabytes":3,"declared":\#(isDeclared)}"#)
        #expect(wire.ending == .closed)
        #expect(wire.body.count == 3_000_000)
        #expect(wire.header("Content-Length") == (isDeclared ? "3000000" : nil))
        #expect(try Tree(wire.body)["token"]?.text?.utf8.count == 2_999_988)
    }

    @Test func `a client that leaves a huge body ends it`() throws {
        try sandbox.script(#"{"fault":"huge","megabytes":4000}"#)
        do {
            let connection = try Connection(port: sandbox.port)
            connection.send("POST", "/backend/support/token")
            _ = try sandbox.json("GET", "/_sandbox/wait?backend=support&count=1")
        }
        #expect(try sandbox.token()["token"] != nil)
        sandbox.program.send(SIGTERM)
        #expect(sandbox.program.wait() == 0)
    }

    @Test func `JSON under another name`() throws {
        let wire = try sandbox.met(#"{"fault":"wrong_type"}"#)
        #expect(wire.header("Content-Type") == "text/html; charset=utf-8")
        #expect(try Tree(wire.body).keys == ["expires_in", "token"])
    }

    @Test func `a page under the name of JSON`() throws {
        let wire = try sandbox.met(#"{"fault":"wrong_type","kind":"html_as_json"}"#)
        #expect(wire.header("Content-Type") == "application/json")
        #expect(wire.bodyText.hasPrefix("<!DOCTYPE html>"))
    }

    @Test func `a captive portal`() throws {
        let wire = try sandbox.met(#"{"fault":"html"}"#)
        #expect(wire.status == 200)
        #expect(wire.header("Content-Type") == "text/html; charset=utf-8")
        #expect(wire.bodyText.hasPrefix("<!DOCTYPE html>"))
    }

    @Test(arguments: [301, 302, 307, 308]) func `a redirect`(status: Int) throws {
        let wire = try sandbox.met(
            #"{"fault":"redirect","status":\#(status),"location":"http://127.0.0.1:1/elsewhere"}"#)
        #expect(wire.status == status)
        #expect(wire.header("Location") == "http://127.0.0.1:1/elsewhere")
        #expect(wire.body.isEmpty)
    }

    @Test(arguments: [
        (#""seconds":120"#, "120"), (#""seconds":-5"#, "-5"), (#""text":"in a while""#, "in a while"),
        (#""status":503"#, "1"),
    ])
    func `too many requests, with a wait`(setting: String, value: String) throws {
        let wire = try sandbox.met("{\"fault\":\"retry_after\",\(setting)}")
        #expect(wire.status == (setting.contains("503") ? 503 : 429))
        #expect(wire.header("Retry-After") == value)
    }

    @Test func `a wait that is a date goes by the backend's clock`() throws {
        let offset = 951_782_400 - (try sandbox.now()) / 1000
        try sandbox.set(#"{"date_offset_seconds":\#(offset)}"#)
        let wire = try sandbox.met(#"{"fault":"retry_after","date_in_seconds":86400}"#)
        #expect(wire.header("Retry-After")?.hasPrefix("Wed, 01 Mar 2000 00:0") == true)
        #expect(wire.header("Date")?.hasPrefix("Tue, 29 Feb 2000 00:0") == true)
    }

    @Test func `a refusal without a word`() throws {
        let wire = try sandbox.met(#"{"fault":"empty"}"#)
        #expect(wire.status == 400)
        #expect(wire.header("Content-Length") == "0")
        #expect(wire.header("Content-Type") == nil)
        #expect(wire.body.isEmpty)
        #expect(try sandbox.met(#"{"fault":"empty","status":403}"#).status == 403)
    }

    @Test(arguments: [(1_048_576, 1000), (300_000, 300_000)]) func `huge header fields`(bytes: Int, line: Int)
        throws
    {
        let wire = try sandbox.met(#"{"fault":"headers","bytes":\#(bytes),"line_bytes":\#(line)}"#)
        #expect(wire.status == 200)
        #expect((bytes...bytes + 1200).contains(wire.head.utf8.count))
        let longest = wire.head.split(separator: "\r\n").map(\.utf8.count).max() ?? 0
        #expect((line - 2...line).contains(longest))
        #expect(try Tree(wire.body).keys == ["expires_in", "token"])
    }

    @Test func `faults are met in their order, each as often as scripted`() throws {
        try sandbox.script(
            #"""
            [{"fault":"status","status":500,"times":2},{"fault":"status","status":502,"route":"token"},
             {"fault":"status","status":503,"times":"forever"}]
            """#)
        let path = "/backend/support/token"
        let statuses = try (0..<6).map { _ in try sandbox.call("POST", path).status }
        #expect(statuses == [500, 500, 502, 503, 503, 503])
        let left = try sandbox.json("GET", "/_sandbox/backend/support/faults")["faults"]
        #expect(left == .array([.object(["fault": .text("status"), "times": .text("forever")])]))
        _ = try sandbox.json("DELETE", "/_sandbox/backend/support/faults")
        #expect(try sandbox.call("POST", path).status == 200)
    }

    @Test func `many hanging connections hold up nobody, and end when the program does`() throws {
        try sandbox.script(#"{"fault":"hang","times":"forever"}"#)
        let connections = try (0..<200).map { _ in
            let connection = try Connection(port: sandbox.port)
            connection.send("POST", "/backend/support/token", body: Array("{}".utf8))
            return connection
        }
        let arrived = try sandbox.json("GET", "/_sandbox/wait?backend=support&count=200&timeout=60")
        #expect(arrived["requests"] == .number("200"))
        #expect(try sandbox.token("other")["token"] != nil)
        sandbox.program.send(SIGTERM)
        #expect(sandbox.program.wait() == 0)
        for connection in connections { #expect(connection.receive().bytes.isEmpty) }
    }

    @Test(arguments: [
        (#"{"fault":"explode"}"#, #"cannot be "explode"; known: status, delay"#),
        (#"{"status":500}"#, #""fault" is missing"#),
        (#"{"fault":"status"}"#, #""status" is missing"#),
        (#"{"fault":"status","status":1000}"#, "must be between 200 and 999"),
        (#"{"fault":"status","status":"a lot"}"#, "must be a whole number"),
        (#"{"fault":"delay"}"#, #""delay_milliseconds" is missing"#),
        (#"{"fault":"delay","delay_milliseconds":1e300}"#, "must be a whole number"),
        (#"{"fault":"hang","times":0}"#, "must be between 1 and"),
        (#"{"fault":"hang","bytes":1}"#, #"unknown key "bytes""#),
        (#"{"fault":"hang","at":"end"}"#, "known: start, headers, body"),
        (#"{"fault":"hang","route":"chat"}"#, "known: token"),
        (#"{"fault":"redirect"}"#, #""location" is missing"#),
        (#"{"fault":"redirect","location":"a\r\nSet-Cookie: b"}"#, "control characters"),
        (#"{"fault":"retry_after","seconds":1,"text":"2"}"#, "one of seconds, date_in_seconds, text"),
        (#"[{"fault":"hang"},7]"#, "must be a JSON object"),
        (#"{"fault":"hang","fault":"reset"}"#, "duplicateKey"),
        ("", "not JSON"),
        ("{", "not JSON"),
    ])
    func `a script that makes no sense is refused as a whole`(fault: String, message: String) throws {
        let answer = try sandbox.json("POST", "/_sandbox/backend/support/faults", body: fault, status: 400)
        #expect(answer["error"]?.text?.contains(message) == true, "\(answer)")
        #expect(try sandbox.json("GET", "/_sandbox/backend/support/faults")["faults"] == .array([]))
    }
}
