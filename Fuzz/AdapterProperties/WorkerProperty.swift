import CredentialCore
import JSON
import JSONRPC
import Secrets
import WorkerProtocol

/// What holds for every line that a worker sends.
package enum WorkerProperty {
    /// A way in which a line showed its reader to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case bodyIsTooLong
        case numberOutside
        case saysWhatNoWorkerCan
        case rewritingIsNotStable
    }

    private static let bodyLimit = 256

    /// Reads `line` as a worker's answer; what it says is within the limits, and the same once it is written anew.
    package static func check(_ line: Span<UInt8>) throws(Violation) {
        guard let outcome = outcome(of: line) else { return }
        try checkLimits(outcome)
        let written = rewritten(outcome)
        guard let again = written.withSpan({ Self.outcome(of: $0) }), rewritten(again).isEqual(to: written)
        else {
            throw .rewritingIsNotStable
        }
    }

    private static func outcome(of line: Span<UInt8>) -> Result<FetchResponse, FetchFailure>? {
        var document = JSONDocument(limits: JSONLimits(length: WireLimits.frame, depth: WireLimits.depth))
        guard let root = try? document.parse(line), case .response(let response) = JSONRPCMessage(root) else {
            return nil
        }
        return try? FetchOutcomeWire.read(response, bodyLimit: bodyLimit)
    }

    private static func checkLimits(_ outcome: Result<FetchResponse, FetchFailure>) throws(Violation) {
        switch outcome {
        case .failure(let failure):
            guard failure != .workerLost, failure != .workerNotStarted else { throw .saysWhatNoWorkerCan }
        case .success(let response):
            guard response.body.count <= bodyLimit else { throw .bodyIsTooLong }
            guard (100...599).contains(response.status),
                WireLimits.retryAfter.contains(response.retryAfter?.count ?? 0),
                WireLimits.date.contains(response.date?.seconds ?? 0)
            else { throw .numberOutside }
        }
    }

    private static func rewritten(_ outcome: Result<FetchResponse, FetchFailure>) -> SecretBytes {
        var writer = JSONWriter()
        let id: [UInt8] = [UInt8(ascii: "7")]
        switch outcome {
        case .success(let response): writer.outcome(.response(response), rawID: id.span)
        case .failure(let failure): writer.outcome(.failure(failure), rawID: id.span)
        }
        let text = writer.finish()
        return text.withSpan { SecretBytes(copying: $0) }
    }
}
