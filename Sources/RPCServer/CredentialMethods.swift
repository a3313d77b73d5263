import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `credentials.*`.
extension RPCServer {
    func credentialsSave(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        try save(
            call, account, idToken: parameters.secret("id_token"),
            accessToken: parameters.secret("access_token"),
            issuer: parameters.text("issuer"), hint: parameters.moment("expires_at"))
    }

    func credentialsSaveToken(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        try save(
            call, account, idToken: parameters.secret("token"), accessToken: nil, issuer: nil,
            hint: parameters.moment("expires_at"))
    }

    private func save(
        _ call: Call, _ account: Account, idToken: SecretBytes?, accessToken: SecretBytes?, issuer: String?,
        hint: ExpiryReading
    ) throws(CallFailure) {
        try requireSavable(call, account)
        let credential: Credential
        do throws(Credential.Failure) {
            credential = try Credential(idToken: idToken, accessToken: accessToken, issuer: issuer)
        } catch {
            throw CallFailure(error)
        }
        let exp = UnverifiedJWT(credential.bearer)?.exp ?? .absent
        let isImplausible = hint == .implausible || exp == .implausible
        let waiter = wait(call) { [unowned self] answer in
            guard case .session(.saved(let generation)) = answer else {
                fail(call, answer, account)
                return
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                writer.key("saved")
                writer.bool(true)
                writer.key("generation")
                writer.integer(generation.number)
                writer.moment("expires_at", account.session.schedule?.expiresAt)
                if isImplausible {
                    writer.key("warnings")
                    writer.beginArray()
                    writer.string("an expiry is no moment and counts as unknown")
                    writer.endArray()
                }
                writer.endObject()
            }
        }
        broker.save(account, credential, Expiries(hint: hint.moment, exp: exp.moment), waiter: waiter)
    }

    /// What a platform must see before it counts is not saved past it.
    private func requireSavable(_ call: Call, _ account: Account) throws(CallFailure) {
        let command: String
        switch account.definition.platform {
        case .chatbase: command = "identity identify"
        case .socialPlus: command = "session login or session login-with-access-token"
        case .kindly, .described, nil: return
        }
        var failure = CallFailure(
            .sessionStateInvalid, "the platform must see this account's token first: chatauth \(command)")
        failure.account = account.name
        throw failure
    }

    func credentialsInspect(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, role) = try account(parameters, call, needs: .use)
        broker.withTokens(of: account) { [unowned self] failure in
            if let failure { return fail(call, .storeFailed(failure), account) }
            call.answer { writer in
                let outlook = self.broker.outlookOnSession(of: account)
                CredentialReply.writeInspection(account, role, outlook, self.now, self.control, to: &writer)
            }
        }
    }

    func credentialsDelete(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        if case .socialPlus = account.definition.platform {
            throw wrongProvider(
                call, account, "kindly, chatbase, oauth or generic; session logout ends a session")
        }
        let waiter = wait(call) { [unowned self] answer in
            guard case .session(.deleted(let generation)) = answer else {
                fail(call, answer, account)
                return
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                writer.key("generation")
                writer.integer(generation.number)
                writer.endObject()
            }
        }
        broker.forget(account, waiter: waiter)
    }
}

/// Everything about a credential but its tokens.
enum CredentialReply {
    /// Writes the members that say how an account's credential is.
    static func writeSummary(_ account: Account, _ now: Instant, to writer: inout JSONWriter) {
        let schedule = account.session.schedule
        writer.key("account")
        writer.string(account.name.text)
        writer.key("state")
        writer.string(account.session.state(at: now).rawValue)
        writer.key("generation")
        writer.integer(account.session.generation.number)
        writer.moment("expires_at", schedule?.expiresAt)
        writer.momentText("expires_at_text", schedule?.expiresAt)
        writer.key("expiry_source")
        if let source = schedule?.source { writer.string(source.rawValue) } else { writer.null() }
        writer.moment("refresh_at", schedule?.refreshAt)
        writer.momentText("refresh_at_text", schedule?.refreshAt)
    }

    /// Writes the last failure and the next attempt, where there are any.
    static func writeTrouble(_ account: Account, _ role: Role, _ now: Instant, to writer: inout JSONWriter) {
        let failures = account.session.failures
        if let last = failures.last {
            writer.key("last_error")
            writer.refreshFailure(last, naming: role >= .operate ? account.definition : nil)
            writer.moment("last_error_at", failures.lastAt?.wall)
            writer.momentText("last_error_at_text", failures.lastAt?.wall)
            writer.key("failures_in_a_row")
            writer.integer(Int64(failures.count))
        }
        if let reason = account.session.signIn {
            writer.key("sign_in_reason")
            writer.string(reason.rawValue)
        }
        // Without trouble `refresh_at` says it; the second between two attempts is nobody's business.
        let isInTrouble = failures.last != nil || account.session.signIn != nil
        if isInTrouble, account.session.traits.hasSource, let next = account.session.nextAttempt(at: now) {
            writer.moment("next_attempt_at", now.wall + (next - now.boot))
        }
    }

    /// Writes why the last sign-in gave nothing, where none has succeeded since.
    static func writeSignInFailure(
        _ account: Account, _ role: Role, to writer: inout JSONWriter
    ) {
        guard let (failure, at) = account.session.signInFailure else { return }
        writer.key("last_sign_in_error")
        writer.refreshFailure(failure, naming: role >= .operate ? account.definition : nil)
        writer.moment("last_sign_in_error_at", at)
        writer.momentText("last_sign_in_error_at_text", at)
    }

    static func writeInspection(
        _ account: Account, _ role: Role, _ outlook: SocialPlusOutlook?, _ now: Instant,
        _ control: any DaemonControl, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writeSummary(account, now, to: &writer)
        let held = account.session.held
        writer.key("has_token")
        writer.bool(held != nil)
        if let held {
            writer.key("origin")
            writer.string(held.origin.rawValue)
            writer.moment("received_at", held.receivedAt.wall)
            writer.momentText("received_at_text", held.receivedAt.wall)
            if let credential = held.credential { write(credential, control, to: &writer) }
            writer.expiries(held.expiries)
        }
        writePlatform(account, outlook, now, to: &writer)
        writeTrouble(account, role, now, to: &writer)
        writer.endObject()
    }

    private static func write(
        _ credential: Credential, _ control: any DaemonControl, to writer: inout JSONWriter
    ) {
        writer.key("bearer")
        writer.string(credential.idToken != nil ? "id_token" : "access_token")
        writeToken("id_token", credential.idToken, control, to: &writer)
        writeToken("access_token", credential.accessToken, control, to: &writer)
        writer.key("has_companion")
        writer.bool(credential.companion != nil)
        writer.key("issuer")
        if let issuer = credential.issuer { writer.string(issuer) } else { writer.null() }
    }

    /// What a token is to whoever only looks at it.
    static func kind(of token: SecretBytes) -> String {
        if UnverifiedJWT(token) != nil { return "jwt" }
        return UnverifiedJWT.defect(of: token) == nil ? "opaque" : "malformed_jwt"
    }

    private static func writeToken(
        _ name: StaticString, _ token: SecretBytes?, _ control: any DaemonControl, to writer: inout JSONWriter
    ) {
        writer.key(name)
        guard let token else {
            writer.null()
            return
        }
        writer.beginObject()
        writer.key("kind")
        writer.string(kind(of: token))
        writer.key("length")
        writer.integer(Int64(token.count))
        writer.key("fingerprint")
        writer.string(control.fingerprint(of: token))
        writer.endObject()
    }
}
