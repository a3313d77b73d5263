import CredentialCore
import EventLoop
import JOSE
import Secrets
import Testing

import Signing

@Suite struct `The signing thread` {
    private final class Observer: SigningObserver {
        var signed: [(id: UInt64, outcome: Result<SecretBytes, SigningFailure>)] = []
        var verified: [(id: UInt64, outcome: Result<Void, VerificationFailure>)] = []
        func signingDidEnd(_ id: UInt64, _ outcome: Result<SecretBytes, SigningFailure>) {
            signed.append((id, outcome))
        }
        func verificationDidEnd(_ id: UInt64, _ outcome: Result<Void, VerificationFailure>) {
            verified.append((id, outcome))
        }
        var count: Int { signed.count + verified.count }
    }

    private func order(_ id: UInt64, key: StaticString = "a secret of both sides") -> SigningOrder {
        SigningOrder(
            id: id, algorithm: .hs256, key: SecretBytes(key), keyID: nil, claims: SecretBytes("{\"n\":1}"))
    }

    private func verification(_ id: UInt64) -> VerificationOrder {
        VerificationOrder(
            id: id, token: SecretBytes("no token"), keys: SecretBytes("{}"), issuer: "", audience: "",
            accessToken: nil, now: WallTime(seconds: 0))
    }

    private func wait(_ loop: EventLoop, _ observer: Observer, for count: Int) throws {
        while observer.count < count {
            try #require(try loop.runOnce(timeoutMilliseconds: 10_000))
        }
    }

    @Test func `every order has one outcome, in order and on the loop`() throws {
        let loop = try EventLoop()
        let signing = try SigningThread(loop: loop)
        let observer = Observer()
        signing.observer = observer
        for id in UInt64(0)..<500 {
            if id % 3 == 0 { signing.verify(verification(id)) } else { signing.sign(order(id)) }
        }
        #expect(observer.count == 0)
        try wait(loop, observer, for: 500)
        signing.shutdown()
        #expect(observer.verified.map(\.id) == (0..<500).filter { $0 % 3 == 0 })
        #expect(observer.signed.map(\.id) == (0..<500).filter { $0 % 3 != 0 })
        let key = try Key(secret: SecretBytes("a secret of both sides"), .hs256)
        for (_, outcome) in observer.signed { try CompactJWS(outcome.get()).verify(key) }
        for (_, outcome) in observer.verified {
            #expect(throws: VerificationFailure.malformed) { try outcome.get() }
        }
    }

    @Test func `a key that is none fails by itself`() throws {
        let loop = try EventLoop()
        let signing = try SigningThread(loop: loop)
        let observer = Observer()
        signing.observer = observer
        signing.sign(order(1, key: ""))
        signing.sign(order(2, key: "-----BEGIN PUBLIC KEY-----"))
        signing.sign(order(3))
        try wait(loop, observer, for: 3)
        #expect(throws: SigningFailure.keyUnsuitable) { try observer.signed[0].outcome.get() }
        #expect(throws: SigningFailure.keyUnsuitable) { try observer.signed[1].outcome.get() }
        #expect(throws: Never.self) { try observer.signed[2].outcome.get() }
        signing.shutdown()
    }

    @Test func `too many orders are told so, and none is lost`() throws {
        let loop = try EventLoop()
        let signing = try SigningThread(loop: loop)
        let observer = Observer()
        signing.observer = observer
        let count = SigningThread.queueLimit * 4
        for id in 0..<count { signing.sign(order(UInt64(id))) }
        try wait(loop, observer, for: count)
        signing.shutdown()
        #expect(Set(observer.signed.map(\.id)).count == count)
        for case (_, .failure(let failure)) in observer.signed { #expect(failure == .busy) }
        #expect(observer.signed.count { (try? $0.outcome.get()) != nil } >= SigningThread.queueLimit)
    }

    @Test func `what comes after the shutdown is refused, and a shutdown without orders ends`() throws {
        let loop = try EventLoop()
        let signing = try SigningThread(loop: loop)
        let observer = Observer()
        signing.observer = observer
        signing.shutdown()
        signing.sign(order(1))
        signing.verify(verification(2))
        try wait(loop, observer, for: 2)
        #expect(throws: SigningFailure.busy) { try observer.signed[0].outcome.get() }
        #expect(throws: VerificationFailure.busy) { try observer.verified[0].outcome.get() }
    }
}
