import CredentialCore
import Providers
import Testing

/// A session, the time, and the answers that a test gives.
private struct Stage {
    var session: BindSession
    var now = Instant(wall: WallTime(seconds: 1_767_225_600), boot: BootTime(milliseconds: 1000))

    init(chat: KindlyDefinition.Connecting? = .broker, hasChat: Bool = true, bound: Int64? = nil) {
        session = BindSession(
            traits: .init(chat: chat), hasChat: hasChat, boundGeneration: bound.map { Generation($0) })
    }

    @discardableResult
    mutating func apply(_ event: BindEvent, draw: UInt64 = 0) -> [BindEffect] {
        session.apply(event, at: now, draw: draw)
    }

    mutating func pass(_ length: Milliseconds) -> [BindEffect] {
        now = Instant(wall: now.wall + length, boot: now.boot + length)
        return apply(.wokeUp)
    }
}

private let first = Generation(1)
private let second = Generation(2)
private let rejected = RefreshFailure(.rejected, httpStatus: 401)
private let expiry = WallTime(seconds: 1_767_229_200)

extension [BindEffect] {
    fileprivate var ticket: BindTicket? {
        for case .connect(let ticket) in self { return ticket }
        for case .bind(let ticket, _) in self { return ticket }
        return nil
    }
}

@Suite struct `Binding` {
    @Test func `R30: what starts with a chat and a credential binds it, and its expiry is told`() throws {
        var stage = Stage()
        #expect(stage.apply(.credentialReplaced(first, isBound: false)) == [])
        let begun = stage.apply(.started)
        let ticket = try #require(begun.ticket)
        #expect(begun == [.bind(ticket, first), .announce(.authenticating, nil)])
        #expect(
            stage.apply(.bound(ticket, expiresAt: expiry)) == [
                .bound(first, expiresAt: expiry), .persist, .announce(.authenticated, nil),
            ])
        #expect(stage.session.boundGeneration == first)
        #expect(stage.session.nextWakeUp(at: stage.now) == nil)
    }

    @Test func `the chat is made first, even while nobody is signed in`() throws {
        var stage = Stage(hasChat: false)
        let begun = stage.apply(.started)
        let connect = try #require(begun.ticket)
        #expect(begun == [.connect(connect), .announce(.anonymous, nil)])
        #expect(stage.apply(.credentialReplaced(first, isBound: false)) == [.announce(.authenticating, nil)])
        let connected = stage.apply(.connected(connect))
        let bind = try #require(connected.ticket)
        #expect(connected == [.persist, .bind(bind, first)])
    }

    @Test func `a client that brings the chat is waited for`() throws {
        var stage = Stage(chat: .client, hasChat: false)
        #expect(stage.apply(.started) == [.announce(.anonymous, nil)])
        #expect(stage.apply(.credentialReplaced(first, isBound: false)) == [.announce(.authenticating, nil)])
        #expect(stage.session.nextWakeUp(at: stage.now) == nil)
        let attached = stage.apply(.chatAttached)
        #expect(attached == [.persist, .bind(try #require(attached.ticket), first)])
    }

    @Test func `a described bind needs no chat`() throws {
        var stage = Stage(chat: nil, hasChat: false)
        stage.apply(.started)
        let begun = stage.apply(.credentialReplaced(first, isBound: false))
        #expect(begun == [.bind(try #require(begun.ticket), first), .announce(.authenticating, nil)])
        #expect(stage.apply(.chatReset) == [])
    }

    @Test func `what was bound when it was stored is not bound again`() {
        var stage = Stage(bound: 1)
        stage.apply(.credentialReplaced(first, isBound: false))
        #expect(stage.apply(.started) == [.announce(.authenticated, nil)])
    }

    @Test func `R48: what the platform took before it was installed is not bound again`() {
        var stage = Stage()
        stage.apply(.started)
        #expect(
            stage.apply(.credentialReplaced(first, isBound: true)) == [
                .persist, .announce(.authenticated, nil),
            ])
    }

    @Test func `R32, R57: a refused credential is told once, and never shown again for that chat`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        #expect(
            stage.apply(.failed(ticket, rejected)) == [
                .rejected(first, rejected), .announce(.anonymous, .rejected(rejected)),
            ])
        #expect(stage.pass(.seconds(3600)) == [])
        stage.apply(.stopped)
        #expect(stage.apply(.started) == [.announce(.anonymous, .rejected(rejected))])
        let connect = try #require(stage.apply(.chatReset).ticket)
        let bind = try #require(stage.apply(.connected(connect)).ticket)
        _ = stage.apply(.bound(bind, expiresAt: nil))
        #expect(stage.session.boundGeneration == first)
    }

    @Test func `R16: what the platform says of the companion refuses the credential as well`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        let failure = RefreshFailure(.companionInvalid, httpStatus: 401)
        #expect(stage.apply(.failed(ticket, failure)).first == .rejected(first, failure))
    }

    @Test(arguments: [true, false])
    func `R35: a late answer for an older generation changes nothing, and the newer one is bound after it`(
        _ isAccepted: Bool
    ) throws {
        var stage = Stage()
        stage.apply(.started)
        let late = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        #expect(stage.apply(.credentialReplaced(second, isBound: false)) == [])
        let after = stage.apply(isAccepted ? .bound(late, expiresAt: expiry) : .failed(late, rejected))
        #expect(after == [.bind(try #require(after.ticket), second)])
        #expect(stage.apply(.bound(late, expiresAt: expiry)) == [])
        #expect(stage.apply(.credentialReplaced(first, isBound: false)) == [])
    }

    @Test func `R52: a sign-out gives the bind up, and its answer signs nobody in`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        #expect(stage.apply(.credentialGone) == [.cancel(ticket), .announce(.anonymous, .signedOut)])
        #expect(stage.apply(.bound(ticket, expiresAt: nil)) == [])
        #expect(stage.session.hasChat)
    }

    @Test func `R7: without a credential the cause is why the source gave none`() {
        var stage = Stage()
        stage.apply(.started)
        let failure = RefreshFailure(.timeout)
        // Whoever was told that nobody is there is told why, and only once.
        #expect(stage.apply(.sourceFailed(failure)) == [.explain(.source(failure))])
        #expect(stage.apply(.sourceFailed(failure)) == [])
        stage.apply(.credentialReplaced(first, isBound: true))
        #expect(stage.apply(.sourceFailed(failure)) == [])
    }

    @Test func `R7: who has signed out is signed out, whatever failed before`() {
        var stage = Stage()
        stage.apply(.started)
        stage.apply(.credentialReplaced(first, isBound: true))
        stage.apply(.sourceFailed(RefreshFailure(.timeout)))
        #expect(stage.apply(.credentialGone) == [.persist, .announce(.anonymous, .signedOut)])
    }

    @Test(arguments: [
        BindCause.expired, .source(RefreshFailure(.callbackTimeout)), .rejected(RefreshFailure(.rejected)),
    ])
    func `R7: one that ends with nothing in its place is told once, is not bound, and may come back`(
        _ cause: BindCause
    ) throws {
        var stage = Stage(bound: 1)
        stage.apply(.started)
        stage.apply(.credentialReplaced(first, isBound: false))
        let ended = BindEvent.credentialReplaced(first, isBound: false, end: cause)
        #expect(stage.apply(ended) == [.announce(.anonymous, cause)])
        #expect(stage.apply(ended) == [])
        #expect(stage.apply(.chatAttached) == [.persist])
        #expect(stage.session.nextWakeUp(at: stage.now) == nil)
        let back = stage.apply(.credentialReplaced(first, isBound: false))
        #expect(back == [.bind(try #require(back.ticket), first), .announce(.authenticating, nil)])
        stage.apply(ended)
        let next = stage.apply(.credentialReplaced(second, isBound: true))
        #expect(next == [.persist, .announce(.authenticated, nil)])
    }

    @Test func `R48: a chat that the platform does not know any more is made known again, then bound to`()
        throws
    {
        var stage = Stage(bound: 1)
        stage.apply(.started)
        stage.apply(.credentialReplaced(first, isBound: false))
        var bind = try #require(stage.apply(.credentialReplaced(second, isBound: false)).ticket)
        let failure = RefreshFailure(.upstreamError, httpStatus: 404, cause: .chatUnknown, party: .platform)
        for pause in [1, 2, 4, 8, 16] as [Int64] {
            #expect(stage.apply(.chatUnknown(bind, failure), draw: UInt64(pause) * 1000) == [])
            #expect(stage.session.nextWakeUp(at: stage.now) == stage.now.boot + .seconds(pause))
            let connect = try #require(stage.pass(.seconds(pause)).ticket)
            let connected = stage.apply(.connected(connect))
            bind = try #require(connected.ticket)
            // Where that does not help, the pauses grow.
            #expect(connected == [.persist, .bind(bind, second)])
        }
        #expect(stage.apply(.bound(bind, expiresAt: nil)).last == .announce(.authenticated, nil))
        #expect(stage.session.failures.last == nil)
    }

    @Test func `R48: a chat that cannot be made known again is tried for, and nothing is bound to it`() throws
    {
        var stage = Stage()
        stage.apply(.started)
        let bind = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        stage.apply(.chatUnknown(bind, RefreshFailure(.upstreamError, httpStatus: 403)))
        let connect = try #require(stage.pass(.seconds(1)).ticket)
        stage.apply(.failed(connect, RefreshFailure(.unreachable)))
        let again = stage.pass(.seconds(2))
        #expect(again == [.connect(try #require(again.ticket))])
    }

    @Test func `a client's chat is not made known by us, whatever the platform says of it`() throws {
        var stage = Stage(chat: .client)
        stage.apply(.started)
        let bind = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        stage.apply(.chatUnknown(bind, RefreshFailure(.upstreamError, httpStatus: 404)))
        let again = stage.pass(.seconds(1))
        #expect(again == [.bind(try #require(again.ticket), first)])
    }

    @Test func `R57: another chat is bound anew, and what was out for the old one is given up`() throws {
        var stage = Stage()
        stage.apply(.started)
        let bind = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        stage.apply(.bound(bind, expiresAt: nil))
        let reset = stage.apply(.chatReset)
        let connect = try #require(reset.ticket)
        #expect(reset == [.persist, .connect(connect), .announce(.authenticating, nil)])
        let attached = stage.apply(.chatAttached)
        #expect(
            attached == [.cancel(connect), .persist, .bind(try #require(attached.ticket), first)])
        #expect(stage.apply(.connected(connect)) == [])
    }

    @Test func `transient failures are tried again after growing, random pauses`() throws {
        var stage = Stage()
        stage.apply(.started)
        var ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        for ceiling in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] as [Int64] {
            #expect(
                stage.apply(.failed(ticket, RefreshFailure(.unreachable)), draw: UInt64(ceiling) * 1000) == []
            )
            let next = try #require(stage.session.nextWakeUp(at: stage.now))
            #expect(next - stage.now.boot == .seconds(ceiling))
            #expect(stage.pass(Milliseconds(ceiling * 1000 - 1)) == [])
            ticket = try #require(stage.pass(Milliseconds(1)).ticket)
        }
        #expect(stage.apply(.bound(ticket, expiresAt: nil)).last == .announce(.authenticated, nil))
        #expect(stage.session.failures.last == nil)
    }

    @Test func `what Retry-After asks for wins`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        stage.apply(
            .failed(ticket, RefreshFailure(.upstreamError, httpStatus: 429, retryAfter: .seconds(90))))
        #expect(stage.session.nextWakeUp(at: stage.now) == stage.now.boot + .seconds(90))
        // A newer credential does not make the platform less busy.
        #expect(stage.apply(.credentialReplaced(second, isBound: false)) == [])
    }

    @Test func `what may have been replaced at the platform is bound anew, what is not bound is left alone`()
        throws
    {
        var stage = Stage(bound: 2)
        stage.apply(.credentialReplaced(second, isBound: false))
        stage.apply(.started)
        #expect(stage.apply(.doubted(first)) == [])
        let effects = stage.apply(.doubted(second))
        let ticket = try #require(effects.ticket)
        #expect(effects == [.persist, .bind(ticket, second), .announce(.authenticating, nil)])
        #expect(stage.apply(.doubted(second)) == [])
    }

    @Test func `a request whose answer never comes loses its turn`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        #expect(stage.session.nextWakeUp(at: stage.now) == stage.now.boot + .seconds(10))
        #expect(stage.pass(Milliseconds(9999)) == [])
        #expect(stage.pass(Milliseconds(1)) == [.cancel(ticket)])
        #expect(stage.session.failures.last == RefreshFailure(.timeout, party: .platform))
        #expect(stage.pass(.seconds(1)).ticket != nil)
    }

    @Test func `an account that rests asks nothing, and goes on where it stopped`() throws {
        var stage = Stage()
        stage.apply(.started)
        let ticket = try #require(stage.apply(.credentialReplaced(first, isBound: false)).ticket)
        #expect(stage.apply(.stopped) == [.cancel(ticket), .announce(.anonymous, .stopped)])
        #expect(stage.apply(.credentialReplaced(second, isBound: false)) == [])
        #expect(stage.session.nextWakeUp(at: stage.now) == nil)
        #expect(stage.apply(.started).ticket != nil)
    }
}
