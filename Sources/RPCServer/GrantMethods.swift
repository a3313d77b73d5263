import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Secrets

/// `grant.*`, and the sign-out that ends one.
extension RPCServer {
    func grantImport(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let name = try entryName("grant", parameters)
        guard let token = try parameters.secret("refresh_token"), !token.isEmpty else {
            throw CallFailure(invalidParams: "refresh_token is empty")
        }
        guard token.count <= HeldGrant.tokenLimit else {
            throw CallFailure(
                .credentialTooLarge,
                "refresh_token has \(token.count) bytes; \(HeldGrant.tokenLimit) are allowed")
        }
        guard HeldGrant.isUsable(token) else {
            throw CallFailure(
                .credentialMalformed, "refresh_token has a byte that no refresh token has (RFC 6749 §A.17)")
        }
        let scope = try parameters.text("scope")
        guard scope?.utf8.allSatisfy({ $0 != 0x22 && $0 != 0x5C && (0x20...0x7E).contains($0) }) ?? true
        else {
            throw CallFailure(invalidParams: "scope has a byte that no scope has (RFC 6749 §3.3)")
        }
        let destination = try destination(of: name, try parameters.text("account"))
        let waiter = wait(call) { [unowned self] answer in
            guard case .done = answer else {
                fail(call, answer, nil)
                return
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("grant")
                writer.string(name.text)
                writer.key("generation")
                writer.integer(self.broker.grant(named: name)?.generation.number ?? 0)
                writer.endObject()
            }
        }
        broker.importGrant(name, token, destination, scope: scope, waiter: waiter)
    }

    // A refresh token is bound to where it may be sent when it comes, never later.
    private func destination(of grant: GrantName, _ account: String?) throws(CallFailure) -> Destination {
        let users = broker.accountsSpending(grant)
        if let account {
            guard let chosen = users.first(where: { $0.name.text == account }),
                let destination = Self.destination(of: chosen)
            else {
                throw CallFailure(
                    invalidParams: "no account of that name spends the grant \(grant); check its source")
            }
            return destination
        }
        let destinations = Set(users.compactMap { Self.destination(of: $0) })
        guard let only = destinations.first else {
            throw CallFailure(
                invalidParams:
                    "no account spends the grant \(grant); configure one first, with an oauth source")
        }
        guard destinations.count == 1 else {
            throw CallFailure(
                invalidParams: "the accounts that spend the grant \(grant) have different servers or clients;"
                    + " say which one it is for with account")
        }
        return only
    }

    private static func destination(of account: Account) -> Destination? {
        guard case .oauth(let source) = account.definition.source else { return nil }
        return source.destination
    }

    func grantList(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let page = try page(of: broker.grants, parameters) { $0.held.name.text }
        call.answer { writer in
            writer.beginObject()
            writer.key("grants")
            writer.beginArray()
            for grant in page.entries { Self.write(grant, to: &writer) }
            writer.endArray()
            writer.cursor(page.cursor)
            writer.endObject()
        }
    }

    private static func write(_ grant: GrantOutlook, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("grant")
        writer.string(grant.held.name.text)
        writer.key("state")
        writer.string(state(of: grant))
        writer.key("generation")
        writer.integer(grant.held.generation.number)
        writer.moment("received_at", grant.held.receivedAt)
        writer.momentText("received_at_text", grant.held.receivedAt)
        writer.key("uncertain")
        writer.bool(grant.isUncertain)
        writer.key("stored")
        writer.bool(!grant.isOnlyInMemory)
        if let scope = grant.held.scope {
            writer.key("scope")
            writer.string(scope)
        }
        writer.key("accounts")
        writer.beginArray()
        for account in grant.accounts { writer.string(account.text) }
        writer.endArray()
        if let failure = grant.lastFailure {
            writer.key("last_error")
            writer.refreshFailure(failure)
        }
        writer.endObject()
    }

    private static func state(of grant: GrantOutlook) -> String {
        if grant.isParked { return "parked" }
        return switch grant.held.state {
        case .usable: grant.accounts.isEmpty ? "unused" : "usable"
        case .spending: "spending"
        case .possiblySpent: "possibly_spent"
        case .dead: "dead"
        }
    }

    func grantDelete(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let name = try entryName("grant", parameters)
        guard broker.grant(named: name) != nil else {
            throw CallFailure(invalidParams: "there is no grant \(name)")
        }
        let revoke = try parameters.flag("revoke") ?? true
        let waiter = wait(call) { [unowned self] answer in
            answerRevocation(call, answer, nil) { writer in
                writer.key("grant")
                writer.string(name.text)
            }
        }
        broker.deleteGrant(name, revoke: revoke, waiter: waiter)
    }

    func authDeauthenticate(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        try requireOpenStore()
        // Each platform signs out in its own way, and stays different (R54, R100, R164).
        switch account.definition.platform {
        case .chatbase: return logOut(call, account)
        case .socialPlus: throw wrongProvider(call, account, "kindly, chatbase, oauth or generic")
        case .kindly, .described, nil: break
        }
        let waiter = wait(call) { [unowned self] answer in
            answerRevocation(call, answer, account) { writer in
                writer.key("account")
                writer.string(account.name.text)
            }
        }
        broker.deauthenticate(account, waiter: waiter)
    }

    /// Says what was forgotten here, and whether the server knows (RFC 7009).
    private func answerRevocation(
        _ call: Call, _ answer: BrokerAnswer, _ account: Account?,
        _ writeSubject: (inout JSONWriter) -> Void
    ) {
        switch answer {
        case .revoked(let failure?):
            let known = account.flatMap { knownDefinition(of: $0, to: call.client) }
            let (_, reason) = CallFailure.words(for: failure, naming: known, source: "the server")
            var told = CallFailure(
                .revokeFailed,
                failure.party == .platform
                    ? "forgotten here, but the platform may know the user until the credential ends or another is bound: "
                        + reason
                    : "forgotten here, but the server may still honour it, so end it there: " + reason)
            told.account = account?.name
            told.isCleared = true
            told.httpStatus = failure.httpStatus
            told.providerCode = failure.providerCode
            call.fail(told)
        case .forgottenUntold:
            var told = CallFailure(
                .revokeFailed,
                "the store is cleared, but nobody was told: the account was parked, with what is for another platform or server than is configured now, so end it there"
            )
            told.account = account?.name
            told.isCleared = true
            call.fail(told)
        case .done, .revoked(nil), .alreadyAnonymous:
            call.answer { writer in
                writer.beginObject()
                writeSubject(&writer)
                if case .alreadyAnonymous = answer {
                    writer.key("already_anonymous")
                    writer.bool(true)
                }
                writer.endObject()
            }
        default: fail(call, answer, account)
        }
    }

    /// While the store is sealed nobody knows what it has: to say that there is nothing would be a lie that a caller acts on.
    func requireOpenStore() throws(CallFailure) {
        guard broker.storeState == .open else { throw CallFailure(StoreFailure.sealed) }
    }

    /// The name of a grant or a secret.
    func entryName(
        _ key: StaticString, _ parameters: borrowing Parameters
    ) throws(CallFailure) -> AccountName {
        guard let text = try parameters.text(key), let name = AccountName(text) else {
            throw CallFailure(
                invalidParams: "\(key) is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -")
        }
        return name
    }
}
