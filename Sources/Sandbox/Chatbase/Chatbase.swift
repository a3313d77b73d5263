import CredentialCore
import JSON

/// Stands in for Chatbase as its SDK speaks to it: `/chatbase/NAME/api/sdk/agents/ID/…`.
///
/// Each name is a platform of its own with one agent. A request says who it speaks for by its device and, once somebody is
/// signed in, by a token; it never carries `Authorization`, and there is no call with which to sign out. Whoever makes one is
/// refused and listed among the violations.
struct Chatbase: StandIn {
    private var agents = Instances(ChatbaseAgent())

    static let noun = "chatbase"
    static let routes = ["verify", "chat", "conversations", "messages", "retry", "tool_result", "unknown"]

    func place(of segments: [String]) -> (owner: Owner, route: String)? {
        guard segments.count >= 2, segments[0] == Self.noun, Owner.isName(segments[1]) else { return nil }
        // Everything below a name is the platform's, so that what it does not know is told to whom it concerns.
        return (Owner(noun: Self.noun, name: segments[1]), Self.path(segments)?.route ?? "unknown")
    }

    private static func path(_ segments: [String]) -> (agent: String, route: String, conversation: String)? {
        guard segments.count >= 7, segments[2...4] == ["api", "sdk", "agents"] else { return nil }
        let agent = segments[5]
        switch (segments.count, segments[6]) {
        case (7, "verify"), (7, "chat"), (7, "conversations"): return (agent, segments[6], "")
        case (9, "conversations"):
            switch segments[8] {
            case "messages", "retry": return (agent, segments[8], segments[7])
            case "tool-result": return (agent, "tool_result", segments[7])
            default: return nil
            }
        default: return nil
        }
    }

    mutating func answer(
        _ request: Request, _ name: String, _ route: String, _ surroundings: Surroundings
    ) -> Answer {
        let path = Self.path(request.segments)
        let call = ChatbaseCall(
            agent: path?.agent ?? "", route: route, conversation: path?.conversation ?? "", request: request)
        var answer: Answer
        do {
            answer = try agents[name].answer(call, surroundings)
        } catch {
            answer = error.answer(date: surroundings.now)
            if error == .userMissing { answer = answer.accusing("the token has neither user_id nor sub") }
        }
        answer.violations += call.violations
        return answer
    }

    mutating func act(
        _ request: Request, _ name: String, _ action: String, _ surroundings: Surroundings
    ) throws(ControlFailure) -> Answer? {
        guard action == "mint", request.method == "POST" else { return nil }
        let order = try MintOrder(
            request.body, identity: ["user_id", "sub"], algorithm: .hs256, now: surroundings.now)
        return try order.answer(with: try agents[name].settings.key(), date: surroundings.now)
    }

    mutating func configure(_ name: String, _ settings: ControlObject) throws(ControlFailure) {
        // The conversations stay: what is set while a client runs must not make it forget.
        agents[name].settings = try ChatbaseSettings(settings)
    }

    mutating func reset(_ name: String) {
        agents.reset(name)
    }

    func writeSettings(_ name: String, _ json: inout JSONWriter) {
        agents[name].settings.write(&json)
    }
}
