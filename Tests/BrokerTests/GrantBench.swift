import Broker
import BrokerSupport
import CredentialCore
import Secrets
import Testing

/// A broker whose accounts spend grants at a server in memory.
final class GrantBench {
    let stage: Stage
    let server = AuthorizationServer()
    let admin: MemoryConnection

    init(_ accounts: [AccountDefinition], store prepare: (Stage) -> Void = { _ in }) throws {
        let stage = try Stage(isOpen: false, accounts: accounts)
        prepare(stage)
        self.stage = stage
        admin = try #require(stage.connect(onAdminSocket: true))
        serve()
        stage.open()
        stage.run()
    }

    /// Lets the server answer at once.
    func serve() { stage.fetcher.backend = { [server] in server.respond($0) } }

    /// Keeps requests until the test answers them.
    func hold() { stage.fetcher.backend = nil }

    /// Lets the server take the oldest request and loses its answer.
    func loseAnswer() throws {
        let request = try #require(stage.fetcher.out.first)
        _ = server.respond(request)
        stage.fetcher.fail(.connectionLost)
        stage.run()
    }

    /// Lets the server answer the oldest request.
    func answerOne() throws {
        let request = try #require(stage.fetcher.out.first)
        stage.fetcher.end(server.respond(request))
        stage.run()
    }

    func importGrant(_ name: String = "g") {
        let token = AuthorizationServer.text(server.issue())
        let answer = stage.call(admin, "grant.import", #"{"grant":"\#(name)","refresh_token":"\#(token)"}"#)
        #expect(answer.contains(#""result""#))
    }

    func get(_ account: String, _ more: String = "") -> String {
        stage.call(admin, "token.get", #"{"account":"\#(account)"\#(more)}"#)
    }

    /// The refresh token on the disk.
    var stored: String? {
        stage.store.grants[Definitions.name("g")]?.held.map { AuthorizationServer.text($0.refreshToken) }
    }
    var storedState: HeldGrant.State? { stage.store.grants[Definitions.name("g")]?.held?.state }
    var held: HeldGrant? { stage.broker.grant(named: Definitions.name("g")) }
}
