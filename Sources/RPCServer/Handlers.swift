import Broker
package import CredentialCore
import JSON
import JSONRPC
import Log
import Secrets

/// Questions to connected clients, and their answers.
extension RPCServer: HandlerPort {
    /// Whether a client is there to be asked, and still allowed to answer.
    package func hasHandler(for account: AccountName, _ kind: HandlerQuestion.Kind) -> Bool {
        handler(for: account, kind) != nil
    }

    private func handler(
        for name: AccountName, _ kind: HandlerQuestion.Kind
    ) -> (HandlerRegistry.Registration, Account)? {
        guard let registration = registry.registration(for: name, kind),
            !registration.client.isEnding, let account = broker.account(named: name.text.utf8.span),
            role(of: registration.client, on: account).map({ $0 >= .operate }) ?? false
        else { return nil }
        return (registration, account)
    }

    /// Sends a question to whoever is registered for it.
    package func ask(_ question: HandlerQuestion) {
        guard let (registration, account) = handler(for: question.context.account, question.kind) else {
            broker.handlerDidAnswer(question.id, .failure(.absent))
            return
        }
        counters.questions += 1
        let wireID = registry.ask(question, of: registration.client)
        var writer = JSONWriter()
        writer.request(id: wireID, method: question.kind.method) { params in
            params.beginObject()
            params.key("account")
            params.string(question.context.account.text)
            params.key("provider")
            params.string(account.definition.provider.rawValue)
            if let chatID = question.context.chatID {
                params.key("chat_id")
                params.string(chatID)
            }
            if let userID = question.context.userID {
                params.key("user_id")
                params.string(userID)
            }
            params.key("reason")
            params.string(question.context.reason.rawValue)
            switch question.kind {
            case .credentialFetch:
                params.key("want")
                params.string(registration.wish == .token ? "token" : question.context.wish.rawValue)
            case .sessionWillRenew, .sessionOnTokenRenew:
                if let renewalID = question.renewalID {
                    params.key("renewal_id")
                    params.string(String(renewalID))
                }
            }
            params.moment("deadline", self.now.wall + question.limit)
            params.endObject()
        }
        writer.endLine()
        send(writer.finish(), to: registration.client)
    }

    /// Forgets a question: what comes to it is counted and dropped.
    package func withdraw(_ id: UInt64) { registry.forget(id) }

    /// Takes what a client answers; dropped and counted where it was not asked, or is not any more.
    func receive(_ response: borrowing JSONRPCResponse, from client: Client) {
        guard let (question, name) = response.id.integer.flatMap({ registry.take($0, from: client) }) else {
            // Whoever answers so would not learn it otherwise: what it answered was well-formed.
            if receiveStray(response.id, .idAsText, from: client) {
                refuse(client, rawID: Span(), .notResponse, place: nil)
            }
            return
        }
        // Who may not operate the account any more gives it no credential either.
        if response.isError || !mayAnswer(for: name, client) {
            counters.questionsRefused += 1
            broker.handlerDidAnswer(question, .failure(.rejected))
        } else {
            broker.handlerDidAnswer(
                question, .success(SecretBytes(copying: response.payload.rawToken)))
        }
    }

    /// Takes what has an id and is no answer, as one with `"error": null` beside its result: whoever waits for one need not.
    func receiveGarbled(_ id: borrowing JSONValue, from client: Client) {
        guard let (question, _) = id.integer.flatMap({ registry.take($0, from: client) }) else {
            receiveStray(id, .notResponse, from: client)
            return
        }
        counters.questionsRefused += 1
        broker.handlerDidAnswer(question, .failure(.notResponse))
    }

    // Under an id that no question has it is an answer to nothing, and what is out may still be answered. The text of a number says which one
    // is meant, if not as it should; without an id it could be any.
    //
    // True: a question was refused because of its id.
    @discardableResult
    private func receiveStray(
        _ id: borrowing JSONValue, _ failure: HandlerFailure, from client: Client
    ) -> Bool {
        counters.strayResponses += 1
        if let text = id.string {
            guard let (question, _) = Int64(text).flatMap({ registry.take($0, from: client) }) else {
                return false
            }
            counters.questionsRefused += 1
            broker.handlerDidAnswer(question, .failure(failure))
            return true
        }
        if id.integer == nil { endQuestions(to: client, .unmatched) }
        return false
    }

    /// Ends what a client owes: what it said instead cannot be told to belong to any of it, and nothing better will come (R6).
    func endQuestions(to client: Client, _ failure: HandlerFailure) {
        for question in registry.takeQuestions(to: client) {
            counters.questionsRefused += 1
            broker.handlerDidAnswer(question, .failure(failure))
        }
    }

    private func mayAnswer(for name: AccountName, _ client: Client) -> Bool {
        guard let account = broker.account(named: name.text.utf8.span),
            let role = role(of: client, on: account)
        else { return false }
        return role >= .operate
    }

    /// Ends what a client was registered for; what it was asked counts as refused (R6).
    func endRegistrations(
        of client: Client, for account: AccountName? = nil,
        _ kinds: [HandlerQuestion.Kind] = HandlerQuestion.Kind.allCases, because cause: HandlerCause
    ) {
        let gone = registry.unregister(client, from: account, kinds)
        let lost = registry.takeQuestions(to: client) { name, kind in
            (account == nil || name == account) && kinds.contains(kind)
        }
        for question in lost {
            counters.questionsRefused += 1
            broker.handlerDidAnswer(question, .failure(.rejected))
        }
        for (name, kind) in gone {
            log.log(
                .notice, "A handler is gone", (.account, .public(name.text)), (.kind, .public(kind.rawValue)))
            tellHandlerChange(name, kind, from: true, to: false, cause)
            broker.handlersDidChange(for: name, kind, isNew: false)
        }
    }

    /// Looks again at whoever is registered: accounts came, went, or changed hands.
    func reviewHandlers() {
        for name in registry.accounts {
            for kind in HandlerQuestion.Kind.allCases where registry.registration(for: name, kind) != nil {
                broker.handlersDidChange(for: name, kind, isNew: false)
            }
        }
    }
}

/// Why a handler came or went, as subscribers are told.
enum HandlerCause: String {
    case registered, replaced, unregistered, disconnected
}

extension HandlerQuestion.Kind {
    /// The method of the request.
    var method: StaticString {
        switch self {
        case .credentialFetch: "credential.fetch"
        case .sessionWillRenew: "session.will_renew"
        case .sessionOnTokenRenew: "session.on_token_renew"
        }
    }
}
