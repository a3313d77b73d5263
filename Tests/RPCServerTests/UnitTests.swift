import BrokerSupport
import CredentialCore
import Testing

import RPCServer

@Suite struct `Rules by unit` {
    private static let system = InstanceKind.system(admins: [])
    private static let get = #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"#
    private static let unknown = Expected.unknownAccount + "\n"

    private static func unit(_ name: String) throws -> SystemUnit { try #require(SystemUnit(name)) }

    /// A stage whose account `bot` is for user 7 in `kiosk.service`.
    private static func stage() throws -> Stage {
        let rule = try #require(AccessRule(uid: 7, unit: unit("kiosk.service")))
        let stage = try Stage(
            instance: system, accounts: [Definitions.http("bot", access: AccessRules(use: [rule]))])
        stage.advance(.zero)
        stage.fetcher.answer(#"{"token":"abc","expires_in":3600}"#)
        stage.run()
        return stage
    }

    private static func client(_ stage: Stage, uid: UInt32 = 7, _ unit: PeerUnit) throws -> MemoryConnection {
        let client = try #require(stage.connect(uid: uid))
        client.unit = unit
        return client
    }

    @Test func `user and unit must both hold, for every method`() throws {
        let stage = try Self.stage()
        let kiosk = PeerUnit.known(try Self.unit("kiosk.service"))
        let other = PeerUnit.known(try Self.unit("user@7.service"))
        let methods = ["token.get", "headers.get", "credentials.inspect", "account.show", "token.reject"]
        for (uid, unit, may) in [
            (7, kiosk, true), (7, other, false), (7, .unknown, false), (7, .gone, false), (8, kiosk, false),
        ] as [(UInt32, PeerUnit, Bool)] {
            for method in methods {
                let client = try Self.client(stage, uid: uid, unit)
                let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"account":"bot"}}"#
                let answer = stage.ask(client, line)
                #expect(answer.contains(#""result""#) == may, "\(uid) \(unit) \(method)")
                if !may { #expect(answer == Self.unknown) }
                client.close(flush: false)
            }
        }
    }

    @Test func `who was given a token gets none once its process has ended`() throws {
        let stage = try Self.stage()
        let client = try Self.client(stage, .known(try Self.unit("kiosk.service")))
        for _ in 0..<3 { #expect(stage.ask(client, Self.get) == Expected.token() + "\n") }
        client.unit = .gone
        #expect(stage.ask(client, Self.get) == Self.unknown)
        #expect(stage.ask(client, Self.get.replacing("\"id\":1", with: "\"id\": 1")) == Self.unknown)
        #expect(stage.call(client, "account.list") == #"{"jsonrpc":"2.0","id":1,"result":{"accounts":[]}}"#)
        #expect(stage.audit.lines.last == "denied uid=7 token.get bot no_rule")
    }

    @Test func `a process that ends while the record is on its way gets nothing`() throws {
        let stage = try Self.stage()
        let client = try Self.client(stage, .known(try Self.unit("kiosk.service")))
        stage.audit.isHeld = true
        #expect(stage.ask(client, Self.get).isEmpty)
        client.unit = .gone
        stage.audit.isHeld = false
        stage.run()
        #expect(client.take() == Self.unknown)
    }

    @Test func `a process that ends while it waits for a refresh gets nothing, and that is written down`()
        throws
    {
        let stage = try Self.stage()
        let client = try Self.client(stage, .known(try Self.unit("kiosk.service")))
        #expect(stage.ask(client, Self.get) == Expected.token() + "\n")
        stage.advance(.seconds(40))
        let forced =
            #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot","force":true}}"#
        #expect(stage.ask(client, forced).isEmpty)
        client.unit = .gone
        stage.fetcher.answer(#"{"token":"def","expires_in":3600}"#)
        stage.run()
        #expect(client.take() == Self.unknown)
        #expect(stage.audit.lines.last == "denied uid=7 token.get bot no_rule")
    }

    @Test func `the audit log and the peer itself are told the unit`() throws {
        let stage = try Self.stage()
        let kiosk = try Self.unit("kiosk.service")
        let client = try Self.client(stage, .known(kiosk))
        _ = stage.ask(client, Self.get)
        let stranger = try Self.client(stage, uid: 8, .known(try Self.unit("other.service")))
        _ = stage.ask(stranger, Self.get)
        #expect(stage.audit.entries.map { $0.unit?.text } == ["kiosk.service", "other.service"])
        #expect(stage.call(client, "rpc.hello").contains(#""unit":"kiosk.service""#))
        client.unit = .unknown
        #expect(!stage.call(client, "rpc.hello").contains("unit"))
    }

    @Test func `accounts that may not be used are not remembered for a client that guesses`() throws {
        let stage = try Self.stage()
        let stranger = try Self.client(stage, uid: 8, .unknown)
        let user = try Self.client(stage, .known(try Self.unit("kiosk.service")))
        for client in [stranger, user] { _ = stage.ask(client, Self.get) }
        #expect(stage.server.gripCounts == [7: 1, 8: 0])
    }

    @Test func `a client that no rule names may list few accounts to hear of`() throws {
        let stage = try Self.stage()
        let names = (0..<65).map { "\"a\($0)\"" }
        func subscribe(_ client: MemoryConnection, _ names: [String]) -> String {
            stage.call(
                client, "events.subscribe",
                #"{"topics":["token"],"accounts":[\#(names.joined(separator: ","))]}"#)
        }
        let stranger = try Self.client(stage, uid: 8, .unknown)
        #expect(subscribe(stranger, Array(names.dropLast())).contains(#""result""#))
        #expect(
            subscribe(stranger, names)
                == Expected.invalidParams("accounts must be an array of at most 64 strings"))
        let user = try Self.client(stage, .unknown)
        #expect(subscribe(user, names).contains(#""result""#))
    }
}
