import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `token.*`, `headers.get` and `auth.refresh`.
extension RPCServer {
    private static var usualWait: Milliseconds { .seconds(20) }
    private static var longestWait: Milliseconds { .seconds(300) }

    func tokenGet(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, role) = try account(parameters, call, needs: .use)
        try get(call, account, role, parameters) { server, remarks in
            remarks == .none && account.freshness.holds(at: server.now, minValid: .zero)
                ? server.renderedToken(account)
                : TokenReply.render(account, remarks: remarks, now: server.now)
        }
    }

    func headersGet(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, role) = try account(parameters, call, needs: .use)
        let route = try parameters.text("route", limit: 256)
        if try answerPlatformHeaders(call, account, role, parameters, route: route) { return }
        // Without a platform that has routes every route takes the same headers.
        try get(call, account, role, parameters) { _, remarks in
            TokenReply.renderHeaders(account, remarks: remarks)
        }
    }

    /// Gets what is valid now or soon, and hands out what `render` makes of it.
    private func get(
        _ call: Call, _ account: Account, _ role: Role, _ parameters: borrowing Parameters,
        render: @escaping (RPCServer, TokenRemarks) -> SecretBytes?
    ) throws(CallFailure) {
        let minValid = try parameters.seconds("min_valid") ?? .zero
        let wait = try timeToWait(parameters, call)
        let force = try parameters.flag("force") ?? false
        if !force, account.freshness.holds(at: now, minValid: minValid), let result = render(self, .none) {
            handOut(result, of: account, to: call)
            return
        }
        let waiter = self.wait(call, forRefreshOf: account) { [unowned self] answer in
            guard case .session(.token(let remarks)) = answer, let result = render(self, remarks) else {
                fail(call, answer, account)
                return
            }
            handOut(result, of: account, to: call)
        }
        broker.apply(
            .tokenRequested(
                TokenRequest(waiter: waiter, minValid: minValid, wait: wait, force: force, role: role)),
            to: account)
    }

    func timeToWait(_ parameters: borrowing Parameters, _ call: Call) throws(CallFailure)
        -> Milliseconds
    {
        // A batch is answered as a whole: none of its members may hold up the others.
        let wait = try parameters.seconds("wait") ?? (call.isInBatch ? .zero : Self.usualWait)
        return call.isInBatch ? .zero : min(wait, Self.longestWait)
    }

    func tokenReject(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, role) = try account(parameters, call, needs: .use)
        let generation = try parameters.integer("generation").map { Generation($0) }
        _ = try parameters.integer("http_status")
        let code = try parameters.text("code", limit: 64).flatMap { Int64($0) }
        let waiter = wait(call) { [unowned self] answer in
            let isAccepted: Bool
            switch answer {
            case .session(.rejection(let accepted)): isAccepted = accepted
            case .socialPlus(.reported(let accepted)): isAccepted = accepted
            default: return fail(call, answer, account)
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                writer.key("accepted")
                writer.bool(isAccepted)
                writer.key("generation")
                writer.integer(account.session.generation.number)
                writer.endObject()
            }
        }
        broker.reject(account, generation, code: code, role: role, waiter: waiter)
    }

    func authAuthenticate(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        if case .socialPlus = account.definition.platform {
            throw wrongProvider(call, account, "kindly, chatbase, oauth or generic")
        }
        let wait = try timeToWait(parameters, call)
        let waiter = self.wait(call, forRefreshOf: account) { [unowned self] in
            answerRefreshed(call, account, $0)
        }
        broker.apply(.refreshRequested(waiter: waiter, wait: wait, signsIn: true), to: account)
    }

    func authRefresh(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        _ = try parameters.text("reason", limit: 256)
        let wait = try timeToWait(parameters, call)
        let waiter = self.wait(call, forRefreshOf: account) { [unowned self] in
            answerRefreshed(call, account, $0)
        }
        broker.apply(.refreshRequested(waiter: waiter, wait: wait), to: account)
    }

    private func answerRefreshed(_ call: Call, _ account: Account, _ answer: BrokerAnswer) {
        guard case .session(.refreshed) = answer else { return fail(call, answer, account) }
        call.answer { writer in
            writer.beginObject()
            CredentialReply.writeSummary(account, self.now, to: &writer)
            writer.endObject()
        }
    }
}
