import ChatAuthAPI
import CredentialCore
import JSON
import JSONRPC
import Secrets

/// One call from its beginning to its answer, which comes exactly once.
final class Call {
    let client: Client
    let method: Method
    /// The id as it stood in the request; empty for a notification, which gets no answer.
    private let rawID: [UInt8]
    private let place: BatchPlace?
    private var isAnswered = false
    unowned let server: RPCServer

    init(
        client: Client, method: Method, rawID: Span<UInt8>, isNotification: Bool, place: BatchPlace?,
        server: RPCServer
    ) {
        self.client = client
        self.method = method
        self.place = place
        self.server = server
        var id: [UInt8] = []
        if !isNotification {
            for index in 0..<rawID.count { id.append(rawID[index]) }
        }
        self.rawID = id
        client.pendingCalls += 1
        server.quota.callBegan(client.peer.uid)
    }

    var isInBatch: Bool { place != nil }

    /// Answers with a result; `result` writes one value.
    func answer(_ result: (inout JSONWriter) -> Void) {
        let id = rawID
        end { writer in
            writer.beginResult(rawID: id.span)
            result(&writer)
            writer.endObject()
        }
    }

    /// Answers with an error.
    func fail(_ failure: CallFailure) {
        server.counters.callsFailed += 1
        let id = rawID
        end { writer in failure.write(rawID: id.span, to: &writer) }
    }

    /// Ends without an answer: the client is gone.
    func abandon() { end { _ in } }

    private func end(_ write: (inout JSONWriter) -> Void) {
        precondition(!isAnswered)
        isAnswered = true
        client.pendingCalls -= 1
        server.quota.callEnded(client.peer.uid)
        defer { if client.hasEndedInput { server.closeIfDone(client) } }
        guard !rawID.isEmpty, !client.isEnding else {
            place?.end(nil)
            return
        }
        var writer = JSONWriter()
        write(&writer)
        guard let place else {
            writer.endLine()
            server.send(writer.finish(), to: client)
            return
        }
        place.end(writer.finish().finish())
    }
}

extension CallFailure {
    /// Writes the error response (JSON-RPC 2.0 §5.1); `data` has the kind where it is one of ours.
    func write(rawID: Span<UInt8>, to writer: inout JSONWriter) {
        let number: Int64
        switch code {
        case .specified(let code): number = code.rawValue
        case .kind(let kind): number = kind.properties.code
        }
        writer.errorResponse(rawID: rawID, code: number, message: message) { data in
            data.key("kind")
            data.string(self.kindText)
            data.key("retryable")
            data.bool(self.isRetryable)
            if let retryAfterSeconds = self.retryAfterSeconds {
                data.key("retry_after_seconds")
                data.integer(retryAfterSeconds)
            }
            if let httpStatus = self.httpStatus {
                data.key("http_status")
                data.integer(Int64(httpStatus))
            }
            if let providerCode = self.providerCode {
                data.key("provider_code")
                data.string(providerCode)
            }
            if let account = self.account {
                data.key("account")
                data.string(account.text)
            }
            if let generation = self.generation {
                data.key("generation")
                data.integer(generation.number)
            }
            if self.isCleared {
                data.key("cleared")
                data.bool(true)
            }
        }
    }
}

/// A batch: its members' answers are sent together and in their order, when the last of them is there (JSON-RPC 2.0 §6).
final class Batch {
    private let client: Client
    private unowned let server: RPCServer
    private var missing: Int
    private var answers: [SecretBytes?]

    init(client: Client, count: Int, server: RPCServer) {
        self.client = client
        self.server = server
        missing = count
        answers = Array(repeating: nil, count: count)
    }

    fileprivate func memberEnded(_ index: Int, _ answer: SecretBytes?) {
        answers[index] = answer
        missing -= 1
        guard missing == 0 else { return }
        let answers = self.answers.compactMap { $0 }
        self.answers = []
        guard !answers.isEmpty else { return }
        var writer = JSONWriter()
        writer.beginArray()
        for answer in answers { answer.withSpan { writer.raw($0) } }
        writer.endArray()
        writer.endLine()
        server.send(writer.finish(), to: client)
    }
}

/// A member of a batch.
struct BatchPlace {
    let batch: Batch
    let index: Int

    /// Takes the member's answer; nil for a member that gets none.
    func end(_ answer: SecretBytes?) { batch.memberEnded(index, answer) }
}
