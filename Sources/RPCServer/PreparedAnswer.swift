import Broker
import CredentialCore
import JSONRPC
import Secrets

/// The answer that a client asks for again and again, with everything that must still hold for it to be given.
///
/// It is put together after a hand-out that went the long way: the account was found, the policy asked, the audit record written.
/// `version` is the account's, which changes with every event and with the rules; so one comparison asks all of that again, and one of
/// bytes tells that the client asks the same. Nothing changes while a client has its turn, so the former is asked once for all its calls.
final class PreparedAnswer {
    let grip: Grip
    let call: RepeatedCall
    let result: SecretBytes
    private let version: UInt64
    private let freshness: Freshness
    private let minValid: Milliseconds
    /// Hand-outs since they were counted last.
    private var repeats: Int64 = 0

    init(_ call: RepeatedCall, minValid: Milliseconds, grip: Grip, result: SecretBytes) {
        self.grip = grip
        self.call = call
        self.result = result
        self.minValid = minValid
        version = grip.account.version
        freshness = grip.account.freshness
    }

    /// Whether the answer may be given at `now`.
    func holds(at now: Instant) -> Bool {
        grip.account.version == version && freshness.holds(at: now, minValid: minValid)
    }

    /// Counts hand-outs; true for the first ones since the count was taken.
    func count(_ more: Int64) -> Bool {
        let isFirst = repeats == 0
        repeats += more
        return isFirst
    }

    /// Takes the count of hand-outs.
    func takeRepeats() -> Int64 {
        defer { repeats = 0 }
        return repeats
    }
}

extension SecretBuffer {
    /// Appends the answers to the calls from `start` on that repeat the one that `prepared` answers, until the content is `piece` long.
    ///
    /// `start` moves behind those calls. Returns how many there are.
    mutating func appendRepeats(
        _ bytes: Span<UInt8>, from start: inout Int, _ prepared: PreparedAnswer, piece: Int
    ) -> Int64 {
        let call = prepared.call
        let result = prepared.result
        var number: Int64 = 0
        while count < piece, let (id, end) = call.match(bytes, at: start) {
            appendResponse(rawID: bytes.extracting(id), result: result)
            number += 1
            start = end
        }
        return number
    }

    /// Appends a response and its line end.
    @inline(__always)
    mutating func appendResponse(rawID: Span<UInt8>, result: SecretBytes) {
        append(#"{"jsonrpc":"2.0","id":"#, rawID, #","result":"#, result, "}\n")
    }
}
