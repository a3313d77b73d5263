import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import JSONRPC
import Secrets

/// From one frame to the calls that are in it; what is none is answered here.
extension RPCServer {
    func receive(_ frame: Span<UInt8>, from client: Client, _ document: inout JSONDocument) {
        if client.frameBegan != nil { client.frameBegan = nil }
        if answerAtOnce(frame, client) { return }
        counters.frames += 1
        do throws(JSONFailure) {
            let root = try document.parse(frame)
            switch JSONRPCPayload(root) {
            case .single(let message): receive(message, from: client, place: nil)
            case .batch(var members):
                let batch = Batch(client: client, count: members.count, server: self)
                var index = 0
                while let member = members.next() {
                    receive(member, from: client, place: BatchPlace(batch: batch, index: index))
                    index += 1
                }
            }
        } catch {
            refuse(client, rawID: Span(), CallFailure(.parseError), place: nil)
            endQuestions(to: client, .notJSON)
        }
    }

    private func receive(
        _ message: consuming JSONRPCMessage, from client: Client, place: BatchPlace?
    ) {
        switch consume message {
        case .request(let request):
            if place == nil, answerAtOnce(request, client) { return }
            begin(
                request.method, request.params, rawID: request.rawID, isNotification: false, client: client,
                place: place)
        case .notification(let notification):
            begin(
                notification.method, notification.params, rawID: Span(), isNotification: true, client: client,
                place: place)
        case .response(let response):
            receive(response, from: client)
            place?.end(nil)
        case .invalid(let rawID, let answeredID):
            guard let answeredID else {
                refuse(client, rawID: rawID, CallFailure(.invalidRequest), place: place)
                if rawID.isEmpty { endQuestions(to: client, .unmatched) }
                return
            }
            refuse(client, rawID: rawID, .notResponse, place: place)
            receiveGarbled(answeredID, from: client)
        }
    }

    private func begin(
        _ name: JSONValue, _ params: JSONValue?, rawID: Span<UInt8>, isNotification: Bool, client: Client,
        place: BatchPlace?
    ) {
        counters.calls += 1
        guard quota.allowsCall(client.peer.uid) else {
            failAtOnce(
                CallFailure(.overloaded, "too many calls of this user are waiting", retryAfter: .seconds(1)),
                rawID: rawID, isNotification: isNotification, client, place)
            return
        }
        guard name.raw.count <= 64, let method = name.string.flatMap({ Method(rawValue: $0) }) else {
            failAtOnce(.methodNotFound, rawID: rawID, isNotification: isNotification, client, place)
            return
        }
        let call = Call(
            client: client, method: method, rawID: rawID, isNotification: isNotification, place: place,
            server: self)
        do throws(CallFailure) {
            let parameters = try Parameters(params, of: method)
            try dispatch(call, parameters)
        } catch {
            call.fail(error)
        }
    }

    private func failAtOnce(
        _ failure: CallFailure, rawID: Span<UInt8>, isNotification: Bool, _ client: Client,
        _ place: BatchPlace?
    ) {
        counters.callsFailed += 1
        guard !isNotification else {
            place?.end(nil)
            return
        }
        write(failure, rawID: rawID, client, place)
    }

    func refuse(_ client: Client, rawID: Span<UInt8>, _ failure: CallFailure, place: BatchPlace?) {
        counters.badFrames += 1
        write(failure, rawID: rawID, client, place)
    }

    private func write(_ failure: CallFailure, rawID: Span<UInt8>, _ client: Client, _ place: BatchPlace?) {
        var writer = JSONWriter()
        failure.write(rawID: rawID, to: &writer)
        if let place {
            place.end(writer.finish().finish())
        } else {
            writer.endLine()
            send(writer.finish(), to: client)
        }
    }

    // The stream has no known beginning of a frame any more, or takes too much: say so, and end it.
    func failFrame(_ client: Client, _ failure: CallFailure) {
        counters.badFrames += 1
        guard !client.isEnding else { return }
        write(failure, rawID: Span(), client, nil)
        flush()
        client.isEnding = true
        unfinished[client.connection.id] = nil
        if !client.isClosed { client.connection.close(flush: true) }
    }
}
