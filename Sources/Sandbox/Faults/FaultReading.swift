/// Reads scripted faults from the control API's JSON.
extension ScriptedFault {
    /// One fault, or an array of them.
    static func read(_ body: [UInt8], routes: [String]) throws(ControlFailure) -> [ScriptedFault] {
        switch try ControlValue.parse(body) {
        case .object(let object): return [try ScriptedFault(object, routes: routes)]
        case .array(let values):
            var faults: [ScriptedFault] = []
            for value in values {
                guard case .object(let object) = value else { throw .notAnObject }
                faults.append(try ScriptedFault(object, routes: routes))
            }
            return faults
        default: throw .notAnObject
        }
    }

    private init(_ source: ControlObject, routes: [String]) throws(ControlFailure) {
        var object = source
        route = try object.text("route")
        if let route, !routes.contains(route) { throw .unknownWord(key: "route", word: route, known: routes) }
        if case .text("forever") = object.value("times") {
            remaining = nil
        } else {
            remaining = try object.integer("times", 1...1_000_000) ?? 1
        }
        let delay = try object.integer("delay_milliseconds", 0...86_400_000)
        guard let name = try object.text("fault") else { throw .missingKey("fault") }
        fault = try Self.fault(name, &object)
        if case .delay = fault, delay == nil { throw .missingKey("delay_milliseconds") }
        self.delay = delay ?? 0
        try object.finish()
    }

    private static func fault(_ name: String, _ object: inout ControlObject) throws(ControlFailure) -> Fault {
        switch name {
        case "status":
            guard let status = try object.integer("status", 200...999) else { throw .missingKey("status") }
            return .status(
                Int(status), body: Array((try object.text("body") ?? "").utf8),
                contentType: try object.headerText("content_type"),
                headers: try object.headerFields("headers") ?? [])
        case "delay": return .delay
        case "hang": return .hang(at: try object.word("at", Fault.Place.self) ?? .start)
        case "drip":
            return .drip(
                at: try object.word("at", Fault.Place.self) ?? .body,
                bytes: Int(try object.integer("bytes", 1...65_536) ?? 1),
                interval: try object.integer("interval_milliseconds", 0...3_600_000) ?? 100)
        case "reset": return .reset(at: try object.word("at", Fault.Place.self) ?? .body)
        case "truncated": return .truncated(claimsWhole: try object.bool("claims_whole") ?? false)
        case "huge":
            let megabytes = try object.integer("megabytes", 1...4096) ?? 2
            return .huge(bytes: Int(megabytes) * 1_000_000, declared: try object.bool("declared") ?? true)
        case "wrong_type": return .wrongType(try object.word("kind", Fault.WrongType.self) ?? .jsonAsHTML)
        case "redirect":
            guard let location = try object.headerText("location") else { throw .missingKey("location") }
            return .redirect(status: Int(try object.integer("status", 300...399) ?? 307), location: location)
        case "retry_after":
            return .retryAfter(
                status: Int(try object.integer("status", 400...599) ?? 429), wait: try wait(&object))
        case "html": return .html
        case "empty": return .empty(status: Int(try object.integer("status", 200...999) ?? 400))
        case "headers":
            return .headers(
                bytes: Int(try object.integer("bytes", 1...67_108_864) ?? 1_048_576),
                line: Int(try object.integer("line_bytes", 16...67_108_864) ?? 1000))
        default: throw .unknownWord(key: "fault", word: name, known: Fault.names)
        }
    }

    private static func wait(_ object: inout ControlObject) throws(ControlFailure) -> Fault.RetryAfter {
        let seconds = try object.integer("seconds", -10_000_000_000...10_000_000_000)
        let dateIn = try object.integer("date_in_seconds", -10_000_000_000...10_000_000_000)
        let text = try object.headerText("text")
        switch (seconds, dateIn, text) {
        case (let seconds?, nil, nil): return .seconds(seconds)
        case (nil, let seconds?, nil): return .dateIn(seconds: seconds)
        case (nil, nil, let text?): return .text(text)
        case (nil, nil, nil): return .seconds(1)
        default:
            throw .wrongType(key: "retry_after", expected: "given by one of seconds, date_in_seconds, text")
        }
    }
}
