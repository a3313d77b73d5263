import Glibc
import JSON
import JSONRPC
import Secrets

/// A connection to `chatauthd`, for one thread: calls, events, and the questions that a handler answers.
///
/// Everything happens within `call` and `run`: they read what the daemon sends, so events and questions are served while an answer is
/// waited for. Handlers and observers run on the thread that is in one of them, and may call again.
///
///     let client = try ChatAuthClient()
///     let token = try client.token(for: "support-bot")
public final class ChatAuthClient {
    private let wire: Wire
    private var answers: [Int64: Result<Answer, ClientFailure>] = [:]
    private var lastID: Int64 = 0
    private var handlers: [String: (Question) throws -> HandlerAnswer] = [:]
    private var observer: ((Event) -> Void)?
    private var isStopped = false

    /// Milliseconds that `call` waits for an answer unless told otherwise: more than the daemon waits for a refresh.
    public static let usualPatience: Int64 = 30_000

    /// Connects to the daemon at `socketPath`.
    ///
    /// - Throws: `notReachable`, `timedOut`.
    public init(socketPath: String = ChatAuthClient.usualSocketPath()) throws(ClientFailure) {
        wire = try Wire(path: socketPath, patience: Self.usualPatience)
    }

    /// Where the daemon listens: `$CHATAUTH_SOCKET`, else the user's own if it is there, else the system's.
    public static func usualSocketPath() -> String {
        if let named = getenv("CHATAUTH_SOCKET") { return String(cString: named) }
        var users = "/run/user/\(getuid())/chatauth/chatauth.sock"
        if let runtime = getenv("XDG_RUNTIME_DIR"), runtime[0] == CChar(UInt8(ascii: "/")) {
            users = String(cString: runtime) + "/chatauth/chatauth.sock"
        }
        return access(users, F_OK) == 0 ? users : "/run/chatauth/chatauth.sock"
    }

    // MARK: Calling

    /// Calls a method and waits for its result.
    ///
    /// - Throws: `refused` with what the daemon says; `timedOut`, `connectionLost`, `malformedAnswer`.
    @discardableResult
    public func call(
        _ method: String, _ parameters: Parameter = [:], patience: Int64 = usualPatience
    ) throws(ClientFailure) -> Answer {
        lastID += 1
        let id = lastID
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("jsonrpc")
        writer.string("2.0")
        writer.key("id")
        writer.integer(id)
        writer.key("method")
        writer.string(method)
        writer.key("params")
        parameters.write(to: &writer)
        writer.endObject()
        writer.endLine()
        try wire.send(writer.finish())
        let deadline = Wire.now + patience
        while true {
            if let answer = answers.removeValue(forKey: id) { return try answer.get() }
            guard let frame = try wire.next(until: deadline) else { throw .connectionLost }
            try receive(frame)
        }
    }

    /// A bearer token of the account that is valid now, and for `minValid` seconds at least where the source gives such.
    public func token(for account: String, minValid: Int64 = 0) throws(ClientFailure) -> Token {
        let answer = try call("token.get", ["account": .text(account), "min_valid": .integer(minValid)])
        guard let bearer = answer.secret("bearer_token"), let generation = answer.integer("generation") else {
            throw .malformedAnswer
        }
        return Token(
            bearer: bearer, companion: answer.secret("companion_access_token"), generation: generation,
            expiresAt: answer.integer("expires_at"))
    }

    // MARK: Events and questions

    /// Has `observer` told of every change of these topics, of all accounts or the named ones; answers the state that changes start from.
    ///
    /// A second subscription replaces the first.
    @discardableResult
    public func subscribe(
        to topics: [Topic], accounts: [String]? = nil, _ observer: @escaping (Event) -> Void
    ) throws(ClientFailure) -> Answer {
        self.observer = observer
        var parameters: [String: Parameter] = ["topics": .list(topics.map { .text($0.rawValue) })]
        if let accounts { parameters["accounts"] = .list(accounts.map { .text($0) }) }
        return try call("events.subscribe", .object(parameters))
    }

    /// Becomes the handler of an account: `handler` is asked for fresh credentials, instead of whoever was.
    ///
    /// What it throws is a refusal; the daemon is told nothing of the error itself. It is asked as long as this connection lasts, or
    /// until another client registers, which `handler.replaced` tells an observer.
    public func handle(
        _ account: String, kinds: [Question.Kind] = [.credentialFetch], tokenOnly: Bool = false,
        _ handler: @escaping (Question) throws -> HandlerAnswer
    ) throws(ClientFailure) {
        handlers[account] = handler
        do throws(ClientFailure) {
            try call(
                "handler.register",
                [
                    "account": .text(account), "kinds": .list(kinds.map { .text($0.rawValue) }),
                    "want": tokenOnly ? "token" : "credentials",
                ])
        } catch {
            handlers[account] = nil
            throw error
        }
    }

    /// Serves events and questions until the daemon ends the connection, or `stop` is called from within one of them.
    public func run() throws(ClientFailure) {
        isStopped = false
        while !isStopped {
            guard let frame = try wire.next(until: nil) else { return }
            try receive(frame)
        }
    }

    /// Lets `run` return, once what it is doing is done.
    public func stop() { isStopped = true }

    // MARK: What comes

    private func receive(_ frame: SecretBytes) throws(ClientFailure) {
        try frame.withSpan { (bytes) throws(ClientFailure) in
            var document = JSONDocument(limits: JSONLimits(length: Wire.longestFrame, depth: 64))
            let root: JSONValue
            do throws(JSONFailure) {
                root = try document.parse(bytes)
            } catch {
                throw .malformedAnswer
            }
            switch JSONRPCMessage(root) {
            case .response(let response): take(response)
            case .notification(let notification):
                guard let name = notification.method.string else { return }
                observer?(Event(method: name, parameters: Answer(notification.params)))
            case .request(let request):
                try wire.send(reply(to: request))
            case .invalid: throw .malformedAnswer
            }
        }
    }

    private func take(_ response: JSONRPCResponse) {
        // With the id null the daemon could not read what was sent: that was the newest call.
        let id = response.id.isNull ? lastID : response.id.integer ?? 0
        answers[id] =
            response.isError
            ? .failure(.refused(Refusal(response.payload))) : .success(Answer(response.payload))
    }

    private func reply(to request: JSONRPCRequest) -> SecretBuffer {
        var writer = JSONWriter()
        if let question = Question(request.method.string ?? "", Answer(request.params)),
            let handler = handlers[question.account]
        {
            if let answer = try? handler(question) {
                writer.beginResult(rawID: request.rawID)
                answer.parameter.write(to: &writer)
                writer.endObject()
            } else {
                writer.errorResponse(
                    rawID: request.rawID, code: 1, message: "the handler has no answer"
                ) { _ in }
            }
        } else {
            writer.errorResponse(rawID: request.rawID, .methodNotFound)
        }
        writer.endLine()
        return writer.finish()
    }
}
