import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Secrets

/// `account.*`.
extension RPCServer {
    func accountAdd(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        guard broker.storeState == .open else { throw CallFailure(StoreFailure.sealed) }
        guard let text = parameters.copy() else {
            throw CallFailure(invalidParams: "account.add needs account")
        }
        let isTaken = control.readAccount(text) { [unowned self] outcome in
            switch outcome {
            case .success(let definition): add(definition, call)
            case .failure(let failure): call.fail(CallFailure(.accountInvalid, failure.message))
            }
        }
        if !isTaken {
            throw CallFailure(.overloaded, "too many accounts are being added", retryAfter: .seconds(1))
        }
    }

    private func add(_ definition: AccountDefinition, _ call: Call) {
        guard !broker.isShuttingDown else {
            fail(call, .shuttingDown, nil)
            return
        }
        guard broker.storeState == .open else {
            call.fail(CallFailure(StoreFailure.sealed))
            return
        }
        guard !broker.isTaken(definition.name) else {
            call.fail(CallFailure(.accountExists, "an account with this name is there already"))
            return
        }
        var text = JSONWriter()
        AccountDefinitionJSON.writeDefinition(definition, to: &text)
        var policyText = JSONWriter()
        AccountDefinitionJSON.writePolicy(definition.access, to: &policyText)
        let waiter = wait(call) { [unowned self] answer in
            guard case .accountAdded = answer else {
                fail(call, answer, nil)
                return
            }
            call.answer { Self.writeName(definition.name, to: &$0) }
        }
        broker.addAccount(
            definition, definitionText: text.finish().finish(), policyText: policyText.finish().finish(),
            waiter: waiter)
    }

    func accountRemove(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .admin)
        guard account.definition.origin == .rpc else {
            throw CallFailure(
                .accountInvalid,
                "this account is configured in a file; remove it there and run chatauth reload")
        }
        let waiter = wait(call) { [unowned self] answer in
            guard case .accountRemoved = answer else {
                fail(call, answer, account)
                return
            }
            call.answer { Self.writeName(account.name, to: &$0) }
        }
        broker.removeAccount(account, waiter: waiter)
    }

    func accountList(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (cursor, limit) = try place(parameters)
        var page: [Account] = []
        var hasMore = false
        for account in accounts(after: cursor) where role(of: call.client, on: account) != nil {
            hasMore = page.count == limit
            if hasMore { break }
            page.append(account)
        }
        call.answer { writer in
            writer.beginObject()
            writer.key("accounts")
            writer.beginArray()
            for account in page {
                writer.beginObject()
                CredentialReply.writeSummary(account, self.now, to: &writer)
                writer.key("provider")
                writer.string(account.definition.provider.rawValue)
                writer.key("source")
                if let kind = account.definition.source?.kind { writer.string(kind) } else { writer.null() }
                writer.endObject()
            }
            writer.endArray()
            writer.cursor(hasMore ? page.last?.name.text : nil)
            writer.endObject()
        }
    }

    /// The accounts whose names come after `cursor`, by name.
    private func accounts(after cursor: String?) -> ArraySlice<Account> {
        let accounts = broker.accountsByName()
        guard let cursor else { return accounts[...] }
        var low = 0
        var high = accounts.count
        while low < high {
            let middle = (low + high) / 2
            if accounts[middle].name.text <= cursor { low = middle + 1 } else { high = middle }
        }
        return accounts[low...]
    }

    func accountShow(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, role) = try account(parameters, call, needs: .use)
        // What is noticeable about tokens is said of those of an account that rests as well, where they can be read.
        broker.withTokens(of: account) { [unowned self] _ in
            call.answer { writer in self.writeAccount(account, role, to: &writer) }
        }
    }

    private func writeAccount(_ account: Account, _ role: Role, to writer: inout JSONWriter) {
        writer.beginObject()
        CredentialReply.writeSummary(account, now, to: &writer)
        writer.expiries(account.session.held?.expiries ?? .unknown)
        writer.key("provider")
        writer.string(account.definition.provider.rawValue)
        writer.key("origin")
        writer.string(account.definition.origin.rawValue)
        writer.key("autostart")
        writer.bool(account.definition.startsByItself)
        writer.key("role")
        writer.string("\(role)")
        writer.key("source")
        // Where a source leads is the operator's business.
        if role >= .operate, let source = account.definition.source {
            AccountDefinitionJSON.write(source, to: &writer)
        } else if let kind = account.definition.source?.kind {
            writer.beginObject()
            writer.key("kind")
            writer.string(kind)
            writer.endObject()
        } else {
            writer.null()
        }
        if role >= .operate {
            AccountDefinitionJSON.writeSettings(account.definition, to: &writer)
            writer.key("rules")
            AccountDefinitionJSON.writePolicy(account.definition.access, to: &writer)
        }
        CredentialReply.writePlatform(
            account, broker.outlookOnSession(of: account), now, to: &writer)
        CredentialReply.writeTrouble(account, role, now, to: &writer)
        CredentialReply.writeSignInFailure(account, role, to: &writer)
        writer.endObject()
    }

    func accountStart(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        broker.start(account) { [unowned self] failure in
            if let failure { return fail(call, .session(.failure(failure)), account) }
            answerSummary(call, account)
        }
    }

    func accountStop(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        broker.stop(account)
        answerSummary(call, account)
    }

    func accountCheck(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        let waiter = wait(call) { [unowned self] answer in
            guard case .checked(let failure) = answer else {
                fail(call, answer, account)
                return
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                writer.key("ok")
                writer.bool(failure == nil)
                if account.definition.source?.spendsGrant == true {
                    // A refresh token is not spent to see whether it works: server, client and state of the grant were looked at.
                    writer.key("grant_spent")
                    writer.bool(false)
                }
                if let failure {
                    writer.key("error")
                    writer.failure(CallFailure(failure, of: account, naming: account.definition))
                }
                writer.endObject()
            }
        }
        broker.check(account, waiter: waiter)
    }

    private func answerSummary(_ call: Call, _ account: Account) {
        call.answer { writer in
            writer.beginObject()
            CredentialReply.writeSummary(account, self.now, to: &writer)
            writer.endObject()
        }
    }

    private static func writeName(_ name: AccountName, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("account")
        writer.string(name.text)
        writer.endObject()
    }
}
