import Broker
import ChatAuthAPI
import CredentialCore
import JSON

/// From a method to what carries it out, and the two questions that come before: which account, and may he.
extension RPCServer {
    func dispatch(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        if call.method.description.access == .admin { try requireAdmin(call) }
        switch call.method {
        case .rpcHello: try rpcHello(call, parameters)
        case .rpcDiscover: rpcDiscover(call)
        case .tokenGet: try tokenGet(call, parameters)
        case .tokenReject: try tokenReject(call, parameters)
        case .headersGet: try headersGet(call, parameters)
        case .credentialsSave: try credentialsSave(call, parameters)
        case .credentialsSaveToken: try credentialsSaveToken(call, parameters)
        case .credentialsInspect: try credentialsInspect(call, parameters)
        case .credentialsDelete: try credentialsDelete(call, parameters)
        case .grantImport: try grantImport(call, parameters)
        case .grantList: try grantList(call, parameters)
        case .grantDelete: try grantDelete(call, parameters)
        case .secretSet: try secretSet(call, parameters)
        case .secretList: try secretList(call, parameters)
        case .secretDelete: try secretDelete(call, parameters)
        case .accountAdd: try accountAdd(call, parameters)
        case .accountRemove: try accountRemove(call, parameters)
        case .accountList: try accountList(call, parameters)
        case .accountShow: try accountShow(call, parameters)
        case .accountStart: try accountStart(call, parameters)
        case .accountStop: try accountStop(call, parameters)
        case .accountCheck: try accountCheck(call, parameters)
        case .accountDoctor: try accountDoctor(call, parameters)
        case .authRefresh: try authRefresh(call, parameters)
        case .authAuthenticate: try authAuthenticate(call, parameters)
        case .authDeauthenticate: try authDeauthenticate(call, parameters)
        case .identityIdentify: try identityIdentify(call, parameters)
        case .identityLogout: try identityLogout(call, parameters)
        case .identitySwitch: try identitySwitch(call, parameters)
        case .identityState: try identityState(call, parameters)
        case .identityReport: try identityReport(call, parameters)
        case .sessionLogin: try sessionLogin(call, parameters)
        case .sessionLoginWithAccessToken: try sessionLoginWithAccessToken(call, parameters)
        case .sessionLogout: try sessionLogout(call, parameters)
        case .sessionSecureLogout: try sessionSecureLogout(call, parameters)
        case .sessionState: try sessionState(call, parameters)
        case .sessionRenew: try sessionRenew(call, parameters)
        case .sessionReport: try sessionReport(call, parameters)
        case .chatID: try chatID(call, parameters)
        case .chatAttach: try chatAttach(call, parameters)
        case .chatReset: try chatReset(call, parameters)
        case .deviceID: try deviceID(call, parameters)
        case .deviceReset: try deviceReset(call, parameters)
        case .handlerRegister: try handlerRegister(call, parameters)
        case .handlerUnregister: try handlerUnregister(call, parameters)
        case .handlerList: try handlerList(call, parameters)
        case .eventsSubscribe: try eventsSubscribe(call, parameters)
        case .eventsUnsubscribe: eventsUnsubscribe(call)
        case .storeStatus: storeStatus(call)
        case .storeUnseal: try storeUnseal(call, parameters)
        case .daemonStatus: daemonStatus(call)
        case .daemonDoctor: daemonDoctor(call)
        case .daemonMetrics: daemonMetrics(call)
        case .daemonReload: daemonReload(call)
        case .daemonSetLogLevel: try daemonSetLogLevel(call, parameters)
        }
    }

    /// The account that a call names, and what the caller may do with it.
    ///
    /// Who may not know of an account is told exactly what he is told of one that is not there.
    func account(
        _ parameters: borrowing Parameters, _ call: Call, needs: Role
    ) throws(CallFailure) -> (Account, Role) {
        guard let member = parameters.member("account"), member.kind == .string else {
            throw CallFailure(invalidParams: "account must be a string")
        }
        let name = member.raw.count <= 256 ? member.string.flatMap { AccountName($0) } : nil
        guard let name, let account = broker.account(named: name.text.utf8.span) else {
            // What is no account's name may be anything, a token that was pasted into the wrong place among it: it is not written down.
            noteDenial(call, nil, .noAccount)
            throw name == nil ? CallFailure.accountUnknown : unknownAccount
        }
        // Whoever may not is not remembered: guessed names must not take memory.
        let grip = call.client.heldGrip(on: account) ?? Grip(account: account)
        guard let role = self.role(of: call.client, grip) else {
            noteDenial(call, account.name, .noRule)
            throw unknownAccount
        }
        call.client.keep(grip)
        guard role >= needs else {
            noteDenial(call, account.name, .role)
            var failure = CallFailure(
                .permissionDenied, "your rules for this account allow to use it, not to operate it")
            failure.account = account.name
            throw failure
        }
        return (account, role)
    }

    /// What is said of an account that is not there or not allowed, which is the same.
    ///
    /// While the store is sealed nobody knows what accounts it has: to say that there is none would be a lie that a caller acts on.
    private var unknownAccount: CallFailure {
        broker.storeState == .open ? .accountUnknown : CallFailure(StoreFailure.sealed)
    }

    func isAdmin(_ client: Client) -> Bool {
        policy().isAdmin(
            client.peer, isAdminSocket: client.connection.isAdminSocket, unit: { client.connection.unit })
    }

    private func requireAdmin(_ call: Call) throws(CallFailure) {
        guard !isAdmin(call.client) else { return }
        noteDenial(call, nil, .notAdmin)
        throw CallFailure(
            .permissionDenied, "only administrators may do this, on the administration socket")
    }

    /// The accounts that a client may use, by name.
    func visibleAccounts(_ client: Client) -> [Account] {
        broker.accountsByName().filter { role(of: client, on: $0) != nil }
    }

    /// How an account is configured, for who may know that; else nil.
    func knownDefinition(of account: Account, to client: Client) -> AccountDefinition? {
        role(of: client, on: account).map { $0 >= .operate } == true ? account.definition : nil
    }

    /// Answers a call with what the broker says when it is not what was hoped for.
    func fail(_ call: Call, _ answer: BrokerAnswer, _ account: Account?) {
        let known = account.flatMap { knownDefinition(of: $0, to: call.client) }
        switch answer {
        case .session(.failure(let failure)):
            var told = CallFailure(failure, of: account, naming: known)
            if case .gated(.notLoggedIn) = failure, let moment = account?.nextLogin {
                let pause = max(moment - now.boot, Milliseconds.seconds(1))
                told.message = "nobody is logged in yet; the account logs in by itself, and tries again"
                told.retryAfterSeconds = pause.secondsRoundedUp
            }
            call.fail(told)
        case .storeFailed(let failure): call.fail(CallFailure(failure))
        case .refused(let failure):
            var told = CallFailure(failure, retryAfter: failure.retryAfter, naming: known)
            told.account = account?.name
            call.fail(told)
        case .shuttingDown:
            call.fail(CallFailure(.shuttingDown, "the daemon is stopping", retryAfter: .seconds(1)))
        default: call.fail(CallFailure(.accountBusy, "the account changed meanwhile; try again"))
        }
    }
}
