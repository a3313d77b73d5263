import Broker
import CredentialCore
import Secrets

/// The answer that a client asks for again and again, with everything that must still hold for it to be given.
///
/// It is put together after a hand-out that went the long way: the account was found, the policy asked, the audit record written.
/// `version` is the account's, which changes with every event and with the rules; so one comparison asks all of that again.
struct PreparedAnswer {
    let grip: Grip
    let result: SecretBytes
    private let version: UInt64
    private let freshness: Freshness
    private let name: [UInt8]
    /// Hand-outs since they were counted last.
    private var repeats: Int64 = 0

    init(grip: Grip, result: SecretBytes) {
        self.grip = grip
        self.result = result
        version = grip.account.version
        freshness = grip.account.freshness
        name = Array(grip.account.name.text.utf8)
    }

    /// The result, counted as handed out, and how often it was; nil when it is for another account, or anything has changed.
    mutating func take(_ account: Span<UInt8>, minValid: Milliseconds, now: Instant) -> (SecretBytes, Int64)?
    {
        guard grip.account.version == version, freshness.holds(at: now, minValid: minValid),
            account.count == name.count
        else { return nil }
        for index in 0..<account.count where account[index] != name[index] { return nil }
        repeats += 1
        return (result, repeats)
    }

    /// Takes the count of hand-outs.
    mutating func takeRepeats() -> Int64 {
        defer { repeats = 0 }
        return repeats
    }
}
