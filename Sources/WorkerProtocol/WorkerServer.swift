import CredentialCore
package import EventLoop
import JSON
import JSONRPC
import Secrets

/// The worker's side: requests from the socket to the transport, outcomes back, until the socket ends.
package final class WorkerServer {
    private let transport: any HTTPTransport
    private var channel: LineChannel?
    private var running: Set<UInt64> = []

    /// Serves `descriptor`, a connected non-blocking stream socket, which it takes over.
    ///
    /// `onEnd` says that the client is gone, or spoke what no client of this version speaks; requests are given up then.
    package init(
        loop: EventLoop, descriptor: Int32, transport: any HTTPTransport,
        onEnd: @escaping (LineChannel.End) -> Void
    ) throws(EventLoopFailure) {
        self.transport = transport
        channel = try LineChannel(
            loop: loop, descriptor: descriptor,
            onLine: { [unowned self] line in self.handle(line) },
            onEnd: { [unowned self] end in
                for id in self.running { self.transport.cancel(id) }
                self.running = []
                onEnd(end)
            })
    }

    private func handle(_ line: Span<UInt8>) -> Bool {
        var document = JSONDocument(limits: JSONLimits(length: WireLimits.frame, depth: WireLimits.depth))
        guard let root = try? document.parse(line) else { return false }
        switch JSONRPCMessage(root) {
        case .request(let request): return handle(request)
        case .notification(let notification):
            guard notification.method.isString("cancel"),
                let number = notification.params?.member("id")?.integer,
                let id = UInt64(exactly: number)
            else { return false }
            cancel(id)
            return true
        case .response, .invalid: return false
        }
    }

    private func handle(_ request: borrowing JSONRPCRequest) -> Bool {
        if request.method.isString("ping") {
            var writer = JSONWriter()
            writer.beginResult(rawID: request.rawID)
            writer.beginObject()
            writer.endObject()
            writer.endObject()
            channel?.send(writer.finish())
            return true
        }
        guard request.method.isString("fetch"), let params = request.params, let id = Self.id(request.rawID),
            !running.contains(id)
        else { return false }
        guard running.count < WireLimits.requestsInFlight else {
            answer(id, .failure(.tooManyRequests))
            return true
        }
        guard let fetch = try? FetchRequestWire.read(params, id: id) else {
            answer(id, .failure(.badRequest))
            return true
        }
        running.insert(id)
        transport.begin(fetch) { [weak self] outcome in
            guard let self, self.running.remove(id) != nil else { return }
            switch outcome {
            case .success(let response): self.answer(id, .response(response))
            case .failure(let failure): self.answer(id, .failure(failure))
            }
        }
        return true
    }

    private func cancel(_ id: UInt64) {
        // Its outcome may have crossed the cancellation on the way.
        guard running.remove(id) != nil else { return }
        transport.cancel(id)
        answer(id, .cancelled)
    }

    private func answer(_ id: UInt64, _ outcome: WorkerOutcome) {
        var digits = SecretBuffer(capacity: 20)
        digits.append(decimal: Int64(clamping: id))
        var writer = JSONWriter(capacity: 512)
        digits.withSpan { writer.outcome(outcome, rawID: $0) }
        channel?.send(writer.finish())
    }

    // Ids are plain decimal numbers from 0 on.
    private static func id(_ raw: Span<UInt8>) -> UInt64? {
        guard raw.count <= 18 else { return nil }
        var id: UInt64 = 0
        for index in 0..<raw.count {
            let digit = raw[index] &- 48
            guard digit < 10 else { return nil }
            id = id * 10 + UInt64(digit)
        }
        return id
    }
}
