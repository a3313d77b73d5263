import Broker
import ChatAuthAPI
import CredentialCore
import JSONRPC

/// Frames that have begun: how much room they take, and for how long they may.
extension RPCServer {
    func countPartialFrame(_ client: Client) {
        let bytes = client.framer.pendingBytes
        let isWithin = quota.bytesChanged(client.peer.uid, by: bytes - client.countedBytes)
        client.countedBytes = bytes
        guard isWithin else {
            failFrame(
                client,
                CallFailure(
                    .overloaded, "unfinished frames of this user take too much room", retryAfter: .seconds(1))
            )
            return
        }
        guard bytes > 0 else {
            if client.owesFrame { endFrame(client) }
            return
        }
        // A frame that began behind the one that just ended has its own time.
        guard client.frameBegan == nil else { return }
        let began = broker.clock.now.boot
        client.frameBegan = began
        client.owesFrame = true
        unfinished[client.connection.id] = client
        if !isFrameAlarmSet {
            isFrameAlarmSet = true
            frameAlarm?.set(bootMilliseconds: (began + limits.frameTime).milliseconds)
        }
    }

    func endFrame(_ client: Client) {
        client.frameBegan = nil
        client.owesFrame = false
        unfinished[client.connection.id] = nil
    }

    // All frames have the same time: the alarm is for the oldest of those that were there when it was set.
    func closeSlowFrames() {
        isFrameAlarmSet = false
        let latest = broker.clock.now.boot - limits.frameTime
        var next = BootTime.distantFuture
        for client in Array(unfinished.values) {
            guard let began = client.frameBegan else { continue }
            guard began <= latest else {
                next = min(next, began)
                continue
            }
            counters.slowFrames += 1
            client.isEnding = true
            unfinished[client.connection.id] = nil
            client.connection.close(flush: false)
        }
        guard next < .distantFuture else { return }
        isFrameAlarmSet = true
        frameAlarm?.set(bootMilliseconds: (next + limits.frameTime).milliseconds)
    }
}
