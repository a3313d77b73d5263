import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `identity.*`: who is signed in at Chatbase.
extension RPCServer {
    func identityIdentify(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatbaseAccount(parameters, call, needs: .operate)
        try requireOpenStore()
        guard let token = try parameters.secret("token") else {
            let wait = try timeToWait(parameters, call)
            let waiter = self.wait(call, forRefreshOf: account) { [unowned self] answer in
                answerIdentified(call, account, answer)
            }
            broker.apply(.refreshRequested(waiter: waiter, wait: wait, signsIn: true), to: account)
            return
        }
        try identify(call, account, token, switches: false)
    }

    func identitySwitch(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatbaseAccount(parameters, call, needs: .operate)
        try requireOpenStore()
        guard let token = try parameters.secret("token") else {
            throw CallFailure(invalidParams: "identity.switch needs token")
        }
        try identify(call, account, token, switches: true)
    }

    private func identify(
        _ call: Call, _ account: Account, _ token: SecretBytes, switches: Bool
    ) throws(CallFailure) {
        let credential: Credential
        do throws(Credential.Failure) {
            credential = try Credential(idToken: token, accessToken: nil)
        } catch {
            throw CallFailure(error)
        }
        let waiter = wait(call) { [unowned self] answer in answerIdentified(call, account, answer) }
        broker.identify(account, credential, switches: switches, waiter: waiter)
    }

    private func answerIdentified(_ call: Call, _ account: Account, _ answer: BrokerAnswer) {
        switch answer {
        case .session(.saved), .session(.refreshed):
            answerIdentity(call, account) { writer in
                // The server moves the device's conversations by itself, later: a list that is fetched now may miss some (R88).
                writer.key("merge")
                writer.string("pending")
            }
        default: fail(call, answer, account)
        }
    }

    func identityLogout(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatbaseAccount(parameters, call, needs: .operate)
        try requireOpenStore()
        logOut(call, account)
    }

    /// Drops the identity, and says whether there was one.
    func logOut(_ call: Call, _ account: Account) {
        let waiter = wait(call) { [unowned self] answer in
            switch answer {
            case .session(.deleted), .alreadyAnonymous:
                answerIdentity(call, account) { writer in
                    guard case .alreadyAnonymous = answer else { return }
                    writer.key("already_anonymous")
                    writer.bool(true)
                }
            default: fail(call, answer, account)
            }
        }
        broker.logOut(account, waiter: waiter)
    }

    func identityState(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatbaseAccount(parameters, call, needs: .use)
        try requireOpenStore()
        let answer: () -> Void = { [unowned self] in
            call.answer { writer in
                writer.beginObject()
                self.writeIdentity(account, to: &writer)
                writer.endObject()
            }
        }
        // There is always a device (R97); a disk that refuses a new one does not keep anybody from knowing the rest.
        if broker.device(of: account) != nil {
            answer()
        } else {
            broker.withDevice(of: account) { _ in answer() }
        }
    }

    func identityReport(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatbaseAccount(parameters, call, needs: .operate)
        try requireOpenStore()
        let userID = try parameters.text("user_id")
        let conversationID = try parameters.text("conversation_id")
        do throws(ChatbaseIdentity.Failure) {
            try broker.report(account, userID: userID, conversationID: conversationID) {
                [unowned self] failure in
                if let failure { return call.fail(CallFailure(failure)) }
                call.answer { writer in
                    writer.beginObject()
                    self.writeIdentity(account, to: &writer)
                    writer.endObject()
                }
            }
        } catch {
            let name = error == .userIDInvalid ? "user_id" : "conversation_id"
            throw CallFailure(
                invalidParams:
                    "\(name) must have 1 to \(ChatbaseIdentity.longestID) bytes, none of them a control character"
            )
        }
    }

    // MARK: Parts

    /// Answers who is signed in once that is on disk: what the disk refuses counts nevertheless, and is tried again.
    private func answerIdentity(
        _ call: Call, _ account: Account, _ rest: @escaping (inout JSONWriter) -> Void
    ) {
        broker.whenRemembered(account) { [unowned self] _ in
            call.answer { writer in
                writer.beginObject()
                self.writeIdentity(account, to: &writer)
                rest(&writer)
                writer.endObject()
            }
        }
    }

    private func chatbaseAccount(
        _ parameters: borrowing Parameters, _ call: Call, needs: Role
    ) throws(CallFailure) -> Account {
        let (account, _) = try account(parameters, call, needs: needs)
        guard case .chatbase = account.definition.platform else {
            throw wrongProvider(call, account, "chatbase")
        }
        return account
    }

    /// What is said to a method of another platform than the account's.
    func wrongProvider(_ call: Call, _ account: Account, _ providers: String) -> CallFailure {
        var failure = CallFailure(
            .accountInvalid,
            "\(call.method.rawValue) is for accounts with provider \(providers); this one has \(account.definition.provider.rawValue)"
        )
        failure.account = account.name
        return failure
    }

    /// Writes the members that say who is signed in, never the token (R73, R89, R90, R98).
    private func writeIdentity(_ account: Account, to writer: inout JSONWriter) {
        let held = account.session.isParked ? nil : account.session.held
        writer.key("account")
        writer.string(account.name.text)
        writer.key("device_id")
        if let device = broker.device(of: account) { writer.string(device.text) } else { writer.null() }
        writer.key("auth_state")
        writer.string(held == nil ? "anonymous" : "identified" as String)
        writer.key("is_identified")
        writer.bool(held != nil)
        writer.key("expired")
        writer.bool(held != nil && account.session.schedule?.isExpired(at: now) == true)
        writer.moment("expires_at", account.session.schedule?.expiresAt)
        writer.key("generation")
        writer.integer(account.session.generation.number)
        guard case .chatbase(let identity) = account.platform?.state else { return }
        writer.key("current_user_id")
        if let userID = identity.currentUserID { writer.string(userID) } else { writer.null() }
        writer.key("current_conversation_id")
        if let conversationID = identity.currentConversationID {
            writer.string(conversationID)
        } else {
            writer.null()
        }
    }
}
