package import CredentialCore
package import JSON
package import JSONRPC
import Secrets

/// How a request ended in the worker.
package enum WorkerOutcome: Sendable {
    case response(FetchResponse)
    case failure(FetchFailure)
    /// Given up because the client asked for it.
    case cancelled
}

extension JSONWriter {
    /// Writes the answer to a `fetch`, without the line end.
    package mutating func outcome(_ outcome: WorkerOutcome, rawID: Span<UInt8>) {
        switch outcome {
        case .response(let response):
            beginResult(rawID: rawID)
            beginObject()
            key("status")
            integer(Int64(response.status))
            if let retryAfter = response.retryAfter {
                key("retry_after_ms")
                integer(retryAfter.count)
            }
            if let date = response.date {
                key("date")
                integer(date.seconds)
            }
            if let contentType = response.contentType {
                key("content_type")
                string(contentType)
            }
            member(response.body, text: "body", base64: "body_base64url")
            endObject()
            endObject()
        case .failure(let failure): self.failure(failure.rawValue, rawID: rawID)
        case .cancelled: failure("cancelled", rawID: rawID)
        }
    }

    private mutating func failure(_ kind: String, rawID: Span<UInt8>) {
        errorResponse(rawID: rawID, code: 1, message: "fetch failed") { (writer: inout JSONWriter) in
            writer.key("kind")
            writer.string(kind)
        }
    }
}

/// Reads what a worker answers, believing nothing: a broken worker must not be able to say what no server can.
package enum FetchOutcomeWire {
    /// The outcome in a response; its body is at most the `bodyLimit` that the request allowed.
    package static func read(
        _ response: borrowing JSONRPCResponse, bodyLimit: Int
    ) throws(WireFailure) -> Result<FetchResponse, FetchFailure> {
        let payload = response.payload
        guard !response.isError else { return .failure(try failure(payload)) }
        guard payload.kind == .object else { throw .wrongType }
        guard let status = try integer(payload, "status", in: WireLimits.status),
            let body = try WireBytes.read(
                payload, text: "body", base64: "body_base64url", limit: bodyLimit)
        else { throw .missing }
        return .success(
            FetchResponse(
                status: Int(status),
                retryAfter: try integer(payload, "retry_after_ms", in: WireLimits.retryAfter).map {
                    Milliseconds($0)
                },
                date: try integer(payload, "date", in: WireLimits.date).map { WallTime(seconds: $0) },
                contentType: try contentType(payload), body: body))
    }

    private static func failure(_ error: borrowing JSONValue) throws(WireFailure) -> FetchFailure {
        guard let kind = error.member("data")?.member("kind") else { throw .missing }
        // `workerLost` and `workerNotStarted` are what this side says of a worker, never what a worker says.
        guard kind.kind == .string, kind.raw.count <= 64, let text = kind.string,
            let failure = FetchFailure(rawValue: text), failure != .workerLost, failure != .workerNotStarted
        else { throw .wrongType }
        return failure
    }

    private static func integer(
        _ object: borrowing JSONValue, _ name: StaticString, in range: ClosedRange<Int64>
    ) throws(WireFailure) -> Int64? {
        guard let value = object.member(name) else { return nil }
        guard let number = value.integer else { throw .wrongType }
        guard range.contains(number) else { throw .outOfRange }
        return number
    }

    private static func contentType(_ object: borrowing JSONValue) throws(WireFailure) -> String? {
        guard let value = object.member("content_type") else { return nil }
        guard value.kind == .string, !value.hasEscapes || value.raw.count <= WireLimits.contentType * 2,
            let text = value.string
        else { throw .wrongType }
        guard text.utf8.count <= WireLimits.contentType,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { throw .outOfRange }
        return text
    }
}
