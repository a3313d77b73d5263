import JSON

/// The routes below `/_sandbox/`, with which tests and people steer the stand-ins; they are never journalled.
struct ControlAPI {
    let server: SandboxServer

    /// Answers one control request; whatever is wrong with it is said in `error`.
    func answer(_ request: Request) -> Answer {
        let date = server.state.withState { server.now($0) }
        do throws(ControlFailure) {
            guard request.bodyLength <= 1 << 20 else { throw .tooLarge }
            let segments = Array(request.segments.dropFirst())
            if let answer = try answer(request, segments, date) { return answer }
            return .problem(404, "no such control route or method", date: date)
        } catch {
            return .problem(400, error.message, date: date)
        }
    }

    private func answer(
        _ request: Request, _ segments: [String], _ date: Int64
    ) throws(ControlFailure) -> Answer? {
        switch (request.method, segments.first, segments.count) {
        case ("GET", "journal", 1):
            let journal = server.state.withState { $0.journal }
            let owner = try owner(request, allowed: [])
            return Answer(status: 200, date: date) { journal.write(owner, &$0) }
        case ("DELETE", "journal", 1):
            let owner = try owner(request, allowed: [])
            server.state.withState { $0.journal.clear(owner) }
            return done(date)
        case ("GET", "violations", 1):
            let violations = server.state.withState { $0.violations }
            let owner = try owner(request, allowed: [])
            return Answer(status: 200, date: date) { violations.write(owner, &$0) }
        case ("DELETE", "violations", 1):
            let owner = try owner(request, allowed: [])
            server.state.withState { $0.violations.clear(owner) }
            return done(date)
        case ("GET", "counters", 1):
            let journal = server.state.withState { $0.journal }
            return Answer(status: 200, date: date) { journal.writeCounters(&$0) }
        case ("GET", "wait", 1): return try wait(request, date)
        case ("GET", "clock", 1), ("PUT", "clock", 1): return try clock(request)
        case ("DELETE", nil, 0):
            server.state.withState { state in
                state.standIns = StandInList.fresh()
                state.faults = [:]
                state.journal.clear(nil)
                state.violations.clear(nil)
                state.clockOffset = 0
            }
            return done(date)
        default: return try instance(request, segments, date)
        }
    }

    // /_sandbox/NOUN/NAME, /_sandbox/NOUN/NAME/faults, and the actions of a stand-in
    private func instance(
        _ request: Request, _ segments: [String], _ date: Int64
    ) throws(ControlFailure) -> Answer? {
        let nouns = server.state.withState { $0.standIns.map { type(of: $0).noun } }
        guard segments.count == 2 || segments.count == 3, let index = nouns.firstIndex(of: segments[0])
        else { return nil }
        guard Owner.isName(segments[1]) else { throw .invalidName(segments[1]) }
        let owner = Owner(noun: segments[0], name: segments[1])
        if segments.count == 3 {
            if segments[2] == "faults" { return try faults(request, owner, index, date) }
            return try server.state.withState { state throws(ControlFailure) in
                try state.standIns[index].act(
                    request, owner.name, segments[2], server.surroundings(of: index, state))
            }
        }
        switch request.method {
        case "GET": break
        case "PUT":
            let settings = try ControlObject(body: request.body)
            try server.state.withState { state throws(ControlFailure) in
                try state.standIns[index].configure(owner.name, settings)
            }
        case "DELETE":
            server.state.withState { state in
                state.standIns[index].reset(owner.name)
                state.faults[owner] = nil
                state.journal.clear(owner)
                state.violations.clear(owner)
            }
        default: return nil
        }
        let standIn = server.state.withState { $0.standIns[index] }
        return Answer(status: 200, date: date) { standIn.writeSettings(owner.name, &$0) }
    }

    private func faults(
        _ request: Request, _ owner: Owner, _ index: Int, _ date: Int64
    ) throws(ControlFailure) -> Answer? {
        switch request.method {
        case "GET": break
        case "POST":
            let routes = server.state.withState { type(of: $0.standIns[index]).routes }
            let faults = try ScriptedFault.read(request.body, routes: routes)
            try server.state.withState { state throws(ControlFailure) in
                try state.faults[owner, default: FaultQueue()].append(faults)
            }
        case "DELETE": server.state.withState { $0.faults[owner] = nil }
        default: return nil
        }
        let queue = server.state.withState { $0.faults[owner] ?? FaultQueue() }
        return Answer(status: 200, date: date) { queue.write(&$0) }
    }

    private func wait(_ request: Request, _ date: Int64) throws(ControlFailure) -> Answer {
        let owner = try owner(request, allowed: ["count", "timeout"])
        var query = ControlObject(request.query.map { ($0.name, .text($0.value)) })
        let count = try query.integer("count", 0...1_000_000_000) ?? 1
        let timeout = try query.integer("timeout", 0...600) ?? 10
        let server = server
        let reached = server.state.wait(milliseconds: timeout * 1000) { state -> Int64? in
            let arrived = state.journal.count(owner)
            return arrived >= count || state.isStopping ? arrived : nil
        }
        let (arrived, now) = server.state.withState { ($0.journal.count(owner), server.now($0)) }
        return Answer(status: reached.map { $0 >= count } == true ? 200 : 408, date: now) { json in
            json.beginObject()
            json.key("requests")
            json.integer(reached ?? arrived)
            json.endObject()
        }
    }

    private func clock(_ request: Request) throws(ControlFailure) -> Answer {
        if request.method == "PUT" {
            var object = try ControlObject(body: request.body)
            guard let offset = try object.integer("offset_seconds", BackendSettings.lifetimes) else {
                throw .missingKey("offset_seconds")
            }
            try object.finish()
            server.state.withState { $0.clockOffset = offset }
        }
        let (offset, now) = server.state.withState { ($0.clockOffset, server.now($0)) }
        return Answer(status: 200, date: now) { json in
            json.beginObject()
            json.key("offset_seconds")
            json.integer(offset)
            json.key("now_milliseconds")
            json.integer(now)
            json.endObject()
        }
    }

    /// The owner that a query names by its noun, `backend=NAME`; nil: everybody.
    private func owner(_ request: Request, allowed: [String]) throws(ControlFailure) -> Owner? {
        let nouns = server.state.withState { $0.standIns.map { type(of: $0).noun } }
        var owner: Owner?
        for pair in request.query {
            if nouns.contains(pair.name) {
                guard Owner.isName(pair.value) else { throw .invalidName(pair.value) }
                owner = Owner(noun: pair.name, name: pair.value)
            } else if !allowed.contains(pair.name) {
                throw .unknownKey(pair.name, known: nouns + allowed)
            }
        }
        return owner
    }

    private func done(_ date: Int64) -> Answer {
        Answer(status: 200, date: date) { json in
            json.beginObject()
            json.endObject()
        }
    }
}

extension FaultQueue {
    /// Writes what is still to come.
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("faults")
        json.beginArray()
        for fault in faults {
            json.beginObject()
            json.key("fault")
            json.string(fault.fault.name)
            json.key("times")
            if let remaining = fault.remaining { json.integer(remaining) } else { json.string("forever") }
            if let route = fault.route {
                json.key("route")
                json.string(route)
            }
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
