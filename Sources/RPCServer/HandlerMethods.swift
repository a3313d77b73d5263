import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import JSONRPC
import Log
import Secrets

/// `handler.*`: clients that are asked for fresh credentials.
extension RPCServer {
    func handlerRegister(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        let kinds = try kinds(parameters) ?? [.credentialFetch]
        try requireAskable(kinds, of: account)
        let wish = try wish(parameters)
        let client = call.client
        guard !client.isEnding, !client.hasEndedInput else {
            throw CallFailure(invalidRequest: "who is asked must be able to answer on this connection")
        }
        let changes = registry.register(client, for: account.name, kinds, wish, at: now.wall)
        call.answer { writer in
            writer.beginObject()
            // Who registered before for both is asked for a credential, whatever it says now (R26).
            let known = self.registry.registration(for: account.name, kinds[0])
            self.writeRegistration(account.name, kinds, known?.wish ?? wish, to: &writer)
            writer.key("replaced")
            writer.bool(changes.contains { $0.before != nil })
            writer.endObject()
        }
        tell(replaced: changes, of: account.name)
        for (kind, before) in changes {
            log.log(
                .notice, "A handler is registered", (.account, .public(account.name.text)),
                (.kind, .public(kind.rawValue)))
            tellHandlerChange(
                account.name, kind, from: before != nil, to: true, before == nil ? .registered : .replaced)
            broker.handlersDidChange(for: account.name, kind, isNew: true)
        }
    }

    /// Tells each client that is not asked any more what for.
    private func tell(
        replaced changes: [(kind: HandlerQuestion.Kind, before: Client?)], of account: AccountName
    ) {
        var clients: [Client] = []
        for case (_, .some(let client)) in changes where !clients.contains(where: { $0 === client }) {
            clients.append(client)
        }
        for client in clients {
            var writer = JSONWriter()
            writer.notification(method: "handler.replaced") { params in
                params.beginObject()
                params.key("account")
                params.string(account.text)
                params.key("kinds")
                params.beginArray()
                for (kind, before) in changes where before === client { params.string(kind.method) }
                params.endArray()
                params.endObject()
            }
            writer.endLine()
            send(writer.finish(), to: client)
        }
    }

    func handlerUnregister(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        let kinds = try kinds(parameters) ?? HandlerQuestion.Kind.allCases
        let held = kinds.filter { registry.registration(for: account.name, $0)?.client === call.client }
        endRegistrations(of: call.client, for: account.name, kinds, because: .unregistered)
        call.answer { writer in
            writer.beginObject()
            writer.key("account")
            writer.string(account.name.text)
            writer.key("kinds")
            writer.beginArray()
            for kind in held { writer.string(kind.method) }
            writer.endArray()
            writer.endObject()
        }
    }

    func handlerList(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let accounts = registry.accounts.filter { name in
            broker.account(named: name.text.utf8.span).flatMap { role(of: call.client, on: $0) }
                .map { $0 >= .operate } ?? false
        }
        let (page, cursor) = try page(of: accounts, parameters) { $0.text }
        call.answer { writer in
            writer.beginObject()
            writer.key("handlers")
            writer.beginArray()
            for name in page {
                for (registration, kinds) in self.registry.registrations(for: name) {
                    let client = registration.client
                    writer.beginObject()
                    self.writeRegistration(name, kinds, registration.wish, to: &writer)
                    writer.key("uid")
                    writer.integer(Int64(client.peer.uid))
                    writer.key("pid")
                    writer.integer(Int64(client.peer.pid))
                    if let unit = client.unit(isSystem: self.isSystem) {
                        writer.key("unit")
                        writer.string(unit.text)
                    }
                    writer.moment("registered_at", registration.since)
                    writer.momentText("registered_at_text", registration.since)
                    writer.key("own")
                    writer.bool(client === call.client)
                    writer.endObject()
                }
            }
            writer.endArray()
            writer.cursor(cursor)
            writer.endObject()
        }
    }

    private func writeRegistration(
        _ account: AccountName, _ kinds: [HandlerQuestion.Kind], _ wish: SourceContext.Wish,
        to writer: inout JSONWriter
    ) {
        writer.key("account")
        writer.string(account.text)
        writer.key("kinds")
        writer.beginArray()
        for kind in kinds { writer.string(kind.method) }
        writer.endArray()
        writer.key("want")
        writer.string(wish.rawValue)
    }

    // MARK: Parameters

    /// Who registered for what an account is never asked would wait for ever.
    private func requireAskable(_ kinds: [HandlerQuestion.Kind], of account: Account) throws(CallFailure) {
        if case .socialPlus = account.definition.platform { return }
        guard let kind = kinds.first(where: { $0 != .credentialFetch }) else { return }
        var failure = CallFailure(
            .accountInvalid,
            "\(kind.rawValue) is asked of accounts with provider socialplus only; this one has \(account.definition.provider.rawValue)"
        )
        failure.account = account.name
        throw failure
    }

    private func kinds(_ parameters: borrowing Parameters) throws(CallFailure) -> [HandlerQuestion.Kind]? {
        guard let names = try parameters.texts("kinds", limit: HandlerQuestion.Kind.allCases.count) else {
            return nil
        }
        let wanted = Set(names)
        let kinds = HandlerQuestion.Kind.allCases.filter { wanted.contains($0.rawValue) }
        guard !kinds.isEmpty, kinds.count == wanted.count else {
            let known = HandlerQuestion.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw CallFailure(invalidParams: "kinds must be some of \(known)")
        }
        return kinds
    }

    private func wish(_ parameters: borrowing Parameters) throws(CallFailure) -> SourceContext.Wish {
        switch try parameters.text("want", limit: 16) {
        case nil, "credentials": .credentials
        case "token": .token
        default: throw CallFailure(invalidParams: "want must be credentials or token")
        }
    }
}
