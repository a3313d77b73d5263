import BrokerSupport
import CredentialCore
import RPCServer
import Testing

@Suite struct `The audit log before the secret` {
    private static let get =
        #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"bot"}}"# + "\n"
    private static let unwritable = Expected.error(
        405, "the audit log cannot be written, so nothing is handed out", "audit_unwritable", retryable: true,
        rest: #","retry_after_seconds":1"#)

    @Test func `nothing secret leaves before the record is written`() throws {
        let (stage, client) = try Stage.serving()
        stage.audit.isHeld = true
        stage.receive(Self.get + Self.get, from: client)
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"bot"}}"# + "\n",
            from: client)
        stage.run()
        stage.advance(.seconds(60))
        #expect(client.receivedBytes == 0)
        #expect(stage.audit.lines == ["handed_out uid=1000 token.get bot g1"])
        stage.audit.isHeld = false
        stage.run()
        #expect(client.takeLines().count == 3)
        stage.advance(.seconds(1))
        #expect(
            stage.audit.lines.dropFirst() == [
                "repeated uid=1000 token.get bot g1", "repeated uid=1000 headers.get bot g1",
            ])
    }

    @Test func `what is not written is not handed out, and that recovers`() throws {
        let (stage, client) = try Stage.serving()
        stage.audit.isWritable = false
        stage.receive(Self.get + Self.get, from: client)
        stage.run()
        #expect(client.takeLines() == [Self.unwritable, Self.unwritable])
        stage.receive(Self.get, from: client)
        stage.run()
        #expect(client.takeLines() == [Self.unwritable])
        stage.audit.isWritable = true
        stage.audit.forget()
        stage.receive(Self.get + Self.get, from: client)
        stage.run()
        #expect(client.takeLines() == [Expected.token(), Expected.token()])
        stage.advance(.seconds(2))
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 token.get bot g1", "repeated uid=1000 token.get bot g1",
            ])
    }

    @Test
    func `a chat's own token is a secret as well: nobody's headers wait for their record, and are counted`()
        throws
    {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        let headers = #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"bot"}}"# + "\n"
        stage.audit.isHeld = true
        stage.receive(headers + headers, from: client)
        stage.run()
        #expect(client.receivedBytes == 0)
        stage.audit.isHeld = false
        stage.run()
        #expect(client.takeLines().allSatisfy { $0.contains(#"["kindly-chatbubble-token","chat-token"]"#) })
        stage.receive(headers, from: client)
        stage.advance(.seconds(2))
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 headers.get bot chat_token",
                "repeated uid=1000 headers.get bot x2 chat_token",
            ])
        // The token of another chat is another secret, alone and beside a credential.
        stage.audit.forget()
        _ = client.take()
        _ = stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"c","token":"t"}"#)
        #expect(stage.ask(client, String(headers.dropLast())).contains(#""auth_state":"anonymous""#))
        _ = stage.call(client, "credentials.save", #"{"account":"bot","id_token":"e30.e30.eA"}"#)
        #expect(stage.ask(client, String(headers.dropLast())).contains(#""auth_state":"authenticated""#))
        _ = stage.call(client, "chat.attach", #"{"account":"bot","chat_id":"d","token":"u"}"#)
        #expect(stage.ask(client, String(headers.dropLast())).contains(#""auth_state":"authenticated""#))
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 headers.get bot chat_token", "handed_out uid=1000 headers.get bot g1",
                "handed_out uid=1000 headers.get bot g1",
            ])
    }

    @Test func `where the record cannot be written, a chat's own token is not handed out either`() throws {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        stage.audit.isWritable = false
        for _ in 1...2 {
            #expect(stage.call(client, "headers.get", #"{"account":"bot"}"#) == Self.unwritable)
        }
        stage.audit.isWritable = true
        #expect(stage.call(client, "headers.get", #"{"account":"bot"}"#).contains("chat-token"))
        // Without a chat that is connected there is nothing to hide.
        stage.audit.isWritable = false
        let (other, another) = try bot.stage(KindlyBot.account(hasSource: false, connecting: .client))
        other.audit.isWritable = false
        #expect(
            other.call(another, "headers.get", #"{"account":"bot"}"#).contains(#""auth_state":"anonymous""#))
    }

    @Test func `whoever signs out while a record is written gets nobody's headers, which are not refused`()
        throws
    {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        stage.audit.isHeld = true
        stage.receive(
            #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"bot"}}"# + "\n",
            from: client)
        _ = stage.call(try #require(stage.connect()), "auth.deauthenticate", #"{"account":"bot"}"#)
        stage.audit.isHeld = false
        stage.run()
        #expect(client.take().contains(#""auth_state":"anonymous""#))
    }

    @Test func `a record that is written makes up for none before it that is not`() throws {
        let bot = KindlyBot()
        let (stage, client) = try bot.stage(KindlyBot.account(hasSource: false))
        let headers = #"{"jsonrpc":"2.0","id":1,"method":"headers.get","params":{"account":"bot"}}"# + "\n"
        stage.audit.isHeld = true
        stage.receive(headers, from: client)
        stage.run()
        _ = stage.call(
            try #require(stage.connect()), "credentials.save", #"{"account":"bot","id_token":"e30.e30.eA"}"#)
        stage.receive(Self.get, from: client)
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 headers.get bot chat_token", "handed_out uid=1000 token.get bot g1",
            ])
        stage.audit.isHeld = false
        stage.audit.isWritable = false
        #expect(stage.audit.completeOne())
        stage.audit.isWritable = true
        // What is asked for now has a record of its own, which rests on none of these.
        stage.receive(Self.get, from: client)
        stage.run()
        let answers = client.takeLines()
        #expect(answers.prefix(2) == [Self.unwritable, Self.unwritable])
        #expect(answers.count == 3 && answers[2].contains(#""generation":1"#))
        stage.audit.forget()
        #expect(stage.ask(client, String(headers.dropLast())).contains("chat-token"))
        #expect(stage.audit.lines == ["handed_out uid=1000 headers.get bot g1"])
    }

    @Test func `each generation and each connection has its record`() throws {
        let (stage, first) = try Stage.serving()
        let second = try #require(stage.connect())
        for client in [first, second, first] { stage.receive(Self.get, from: client); stage.run() }
        _ = stage.call(first, "credentials.save_token", #"{"account":"bot","token":"n"}"#)
        stage.receive(Self.get, from: first)
        stage.run()
        // What went out again of the old generation is noted under its number.
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 token.get bot g1", "handed_out uid=1000 token.get bot g1",
                "repeated uid=1000 token.get bot g1", "handed_out uid=1000 token.get bot g2",
            ])
    }

    @Test func `repeats are noted each second and when a client goes`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(Self.get, from: client)
        stage.run()
        for _ in 0..<3 {
            for _ in 0..<500 { stage.receive(Self.get, from: client) }
            stage.advance(.seconds(1))
        }
        stage.receive(Self.get + Self.get, from: client)
        client.close(flush: false)
        #expect(
            stage.audit.lines == [
                "handed_out uid=1000 token.get bot g1", "repeated uid=1000 token.get bot g1 x500",
                "repeated uid=1000 token.get bot g1 x500", "repeated uid=1000 token.get bot g1 x500",
                "repeated uid=1000 token.get bot g1 x2",
            ])
        stage.advance(.seconds(10))
        #expect(stage.audit.entries.count == 5)
        #expect(stage.alarms.allSatisfy { $0.moment == nil })
    }

    @Test func `the end of the program notes what is counted`() throws {
        let (stage, client) = try Stage.serving()
        stage.receive(Self.get, from: client)
        stage.run()
        stage.receive(Self.get, from: client)
        stage.server.close()
        #expect(stage.audit.lines.last == "repeated uid=1000 token.get bot g1")
    }

    @Test func `the end of the program sums up the refusals of a second that is not over`() throws {
        let (stage, _) = try Stage.serving(instance: .system(admins: []))
        let stranger = try #require(stage.connect(uid: 1001))
        for _ in 0..<3 { stage.receive(Self.get, from: stranger) }
        stage.server.close()
        #expect(
            stage.audit.lines == [
                "denied uid=1001 token.get bot no_rule", "denied_summary uid=1001 * x2",
            ])
    }

    @Test func `refusals are noted at once and then summed up each second`() throws {
        let (stage, _) = try Stage.serving(instance: .system(admins: []))
        let stranger = try #require(stage.connect(uid: 1001))
        for _ in 0..<3 {
            for _ in 0..<100 { stage.receive(Self.get, from: stranger) }
            stage.advance(.seconds(1))
        }
        stage.advance(.seconds(3))
        #expect(
            stage.audit.lines == [
                "denied uid=1001 token.get bot no_rule", "denied_summary uid=1001 * x99",
                "denied_summary uid=1001 * x100", "denied_summary uid=1001 * x100",
            ])
        stage.receive(Self.get, from: stranger)
        #expect(stage.audit.lines.last == "denied uid=1001 token.get bot no_rule")
        stage.advance(.seconds(3))
        #expect(stage.audit.entries.count == 5)
        #expect(stage.alarms.allSatisfy { $0.moment == nil })
    }

    @Test func `a sign-out while the record is on its way wins`() throws {
        let (stage, client) = try Stage.serving()
        stage.audit.isHeld = true
        stage.receive(Self.get, from: client)
        _ = stage.call(client, "credentials.delete", #"{"account":"bot"}"#)
        stage.audit.isHeld = false
        stage.run()
        #expect(
            client.take()
                == Expected.error(
                    120, "nobody is signed in to the account; chatauth doctor says what to do",
                    "sign_in_needed", rest: #","account":"bot""#)
                + "\n")
    }

    @Test func `an account that is stopped while the record is on its way hands nothing out`() throws {
        let (stage, client) = try Stage.serving()
        stage.audit.isHeld = true
        stage.receive(Self.get, from: client)
        _ = stage.call(client, "account.stop", #"{"account":"bot"}"#)
        stage.audit.isHeld = false
        stage.run()
        #expect(
            client.take()
                == Expected.error(
                    102, "the account is stopped; chatauth account start lets it work again",
                    "account_stopped", rest: #","account":"bot""#) + "\n")
    }

    @Test func `a client that goes while the record is on its way gets nothing`() throws {
        let (stage, client) = try Stage.serving()
        stage.audit.isHeld = true
        stage.receive(Self.get, from: client)
        client.close(flush: false)
        stage.audit.isHeld = false
        stage.run()
        #expect(client.receivedBytes == 0)
    }
}
