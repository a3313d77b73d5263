import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `session.*`: who is logged in at social.plus.
extension RPCServer {
    func sessionLogin(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, network) = try socialPlusAccount(parameters, call, needs: .operate)
        guard let id = try parameters.text("user_id") ?? network.userID else {
            throw CallFailure(invalidParams: "session.login needs user_id: none is configured")
        }
        let displayName =
            try parameters.text("display_name") ?? (id == network.userID ? network.displayName : nil)
        let user: SocialPlusUser
        do throws(SocialPlusFieldFailure) {
            user = try SocialPlusUser(id: id, displayName: displayName)
        } catch {
            throw CallFailure(error)
        }
        let token = try parameters.secret("auth_token")
        let patience = try patience(parameters, call)
        broker.logIn(
            account, user, authToken: token, patience: patience, waiter: waitForSession(call, account))
    }

    func sessionLoginWithAccessToken(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .operate)
        guard let token = try parameters.secret("access_token") else {
            throw CallFailure(invalidParams: "session.login_with_access_token needs access_token")
        }
        // Whether there is somebody for the next one comes first: without that no token is of use (R191).
        if let failure = broker.accessTokenRefusal(account) {
            if failure == .handlerRequired {
                broker.loginWasRefused(account, RefreshFailure(.handlerRequired), .accessToken)
            }
            var told = CallFailure(failure, of: call.method)
            told.account = account.name
            throw told
        }
        let credential: Credential
        let user: SocialPlusUser
        do throws(CallFailure) {
            (credential, user) = try (accessToken(token), self.user(of: token))
        } catch {
            broker.loginWasRefused(account, RefreshFailure(.malformed), .accessToken)
            throw error
        }
        let patience = try patience(parameters, call)
        broker.logIn(
            account, user, accessToken: credential, patience: patience, waiter: waitForSession(call, account))
    }

    func sessionLogout(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .operate)
        broker.endSession(account, waiter: waitForSession(call, account))
    }

    func sessionSecureLogout(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .operate)
        broker.revokeSession(account, waiter: waitForSession(call, account))
    }

    func sessionState(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .use)
        call.answer { writer in
            writer.beginObject()
            self.writeSession(account, withLoginError: true, to: &writer)
            writer.endObject()
        }
    }

    func sessionRenew(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .operate)
        var renewal: UInt64?
        if let text = try parameters.text("renewal_id", limit: 20) {
            guard let number = UInt64(text) else {
                throw CallFailure(invalidParams: "renewal_id must be the one that session.state says")
            }
            renewal = number
        }
        var offers: [SocialPlusOffer] = []
        if let token = try parameters.secret("auth_token") { offers.append(.authToken(token)) }
        if let token = try parameters.secret("access_token") {
            offers.append(.accessToken(try accessToken(token)))
        }
        if try parameters.flag("unable") == true { offers.append(.unable) }
        guard offers.count <= 1, renewal == nil || offers.count == 1 else {
            throw CallFailure(
                invalidParams: "session.renew takes one of auth_token, access_token and unable for a renewal")
        }
        if let offer = offers.first {
            try requireFit(offer, account)
            broker.offer(account, offer, to: renewal, waiter: waitForSession(call, account))
            return
        }
        let wait = try timeToWait(parameters, call)
        let waiter = self.wait(call, forRefreshOf: account) { [unowned self] answer in
            guard case .session(.refreshed) = answer else { return fail(call, answer, account) }
            answerSession(call, account)
        }
        broker.renewSession(account, wait: wait, waiter: waiter)
    }

    func sessionReport(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try socialPlusAccount(parameters, call, needs: .operate)
        guard let code = try parameters.integer("code") else {
            throw CallFailure(invalidParams: "session.report needs code")
        }
        broker.report(account, code: code, waiter: waitForSession(call, account))
    }

    // MARK: Parts

    private func socialPlusAccount(
        _ parameters: borrowing Parameters, _ call: Call, needs: Role
    ) throws(CallFailure) -> (Account, SocialPlusDefinition) {
        let (account, _) = try account(parameters, call, needs: needs)
        guard case .socialPlus(let network) = account.definition.platform else {
            throw wrongProvider(call, account, "socialplus")
        }
        try requireOpenStore()
        return (account, network)
    }

    /// A token of the other kind is refused before it is anybody's: the renewal waits on for its own (R189, R192).
    private func requireFit(_ offer: SocialPlusOffer, _ account: Account) throws(CallFailure) {
        guard let session = account.socialPlus, session.state.isSession else { return }
        let wanted: String
        switch (offer, session.kind) {
        case (.authToken, .accessToken): wanted = "access_token"
        case (.accessToken, .default): wanted = "auth_token"
        default: return
        }
        var told = CallFailure(
            .credentialMalformed, "the session is renewed with the other kind of token: give \(wanted)")
        told.account = account.name
        throw told
    }

    private func accessToken(_ token: SecretBytes) throws(CallFailure) -> Credential {
        do throws(Credential.Failure) {
            return try Credential(idToken: nil, accessToken: token)
        } catch {
            throw CallFailure(error)
        }
    }

    private func user(of token: SecretBytes) throws(CallFailure) -> SocialPlusUser {
        do throws(SocialPlusAccessToken.Failure) {
            return try SocialPlusAccessToken.user(of: token)
        } catch {
            throw CallFailure(error)
        }
    }

    /// How long the caller waits for a login; nil: as long as it takes, which is limited.
    private func patience(
        _ parameters: borrowing Parameters, _ call: Call
    ) throws(CallFailure) -> Milliseconds? {
        let wait = try parameters.seconds("wait")
        return call.isInBatch ? .zero : wait
    }

    private func waitForSession(_ call: Call, _ account: Account) -> WaiterID {
        wait(call) { [unowned self] answer in
            let reply: SocialPlusReply
            switch answer {
            case .socialPlus(let said): reply = said
            case .session(.failure(.store(let failure))):
                var told = CallFailure(
                    failure, of: call.method, isLoggedIn: account.socialPlus?.state.isSession == true)
                told.account = account.name
                return call.fail(told)
            default: return fail(call, answer, account)
            }
            switch reply {
            case .failure(let failure):
                var told = CallFailure(failure, of: call.method)
                told.account = account.name
                call.fail(told)
            case .reported(let isAccepted): answerSession(call, account, ("accepted", isAccepted))
            case .loggedOut(wasLoggedOut: true): answerSession(call, account, ("already_logged_out", true))
            case .loggedIn, .loggedOut, .offerTaken: answerSession(call, account)
            }
        }
    }

    private func answerSession(
        _ call: Call, _ account: Account, _ remark: (name: StaticString, value: Bool)? = nil
    ) {
        call.answer { writer in
            writer.beginObject()
            self.writeSession(account, withLoginError: false, to: &writer)
            if let remark {
                writer.key(remark.name)
                writer.bool(remark.value)
            }
            writer.endObject()
        }
    }

    private func writeSession(
        _ account: Account, withLoginError isWanted: Bool, to writer: inout JSONWriter
    ) {
        writer.key("account")
        writer.string(account.name.text)
        guard let outlook = broker.outlookOnSession(of: account) else { return }
        writer.session(outlook, of: account, withLoginError: isWanted)
    }
}
