/// A request of the SDK's API, taken apart.
struct ChatbaseCall {
    /// As the path names it.
    let agent: String
    let route: String
    /// As the path names it; empty where the route has none.
    let conversation: String
    let request: Request

    /// `X-Device-Id`.
    func device() throws(ChatbaseFailure) -> String {
        guard let device = request.header("X-Device-Id"), !device.isEmpty else {
            throw .invalidBody(field: "X-Device-Id", message: "Required")
        }
        return device
    }

    /// `X-User-Token`; an empty one is a token too, and a bad one.
    var userToken: String? { request.header("X-User-Token") }

    /// The body, which must be an object.
    func body() throws(ChatbaseFailure) -> ControlObject {
        let value: ControlValue
        do {
            value = try ControlValue.parse(request.body)
        } catch {
            throw .invalidJSON
        }
        guard case .object(let object) = value else {
            throw .invalidBody(field: "body", message: "Expected object")
        }
        return object
    }

    /// The method that the route knows; nil for no route.
    private var method: String? {
        switch route {
        case "verify", "chat", "retry", "tool_result": "POST"
        case "conversations", "messages": "GET"
        default: nil
        }
    }

    /// Refuses what is no call of the API.
    func checkRoute() throws(ChatbaseFailure) {
        guard let method else { throw .noRoute }
        guard request.method == method else { throw .wrongMethod }
    }

    /// What the client should not have done, whatever the answer is.
    var violations: [String] {
        var violations: [String] = []
        if method == nil {
            violations.append("there is no such route, and no call to sign out")
        } else if request.method != method {
            violations.append("wrong method")
        }
        if request.header("Authorization") != nil { violations.append("Authorization is never sent here") }
        if request.header("X-Device-Id")?.isEmpty != false { violations.append("X-Device-Id is missing") }
        if request.method == "POST", request.header("Content-Type")?.hasPrefix("application/json") != true {
            violations.append("Content-Type is not application/json")
        }
        return violations
    }
}
