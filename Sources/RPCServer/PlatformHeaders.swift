import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `headers.get` where the platform has a say: which headers there are, and whether a token is among them.
extension RPCServer {
    /// Answers for an account whose platform has headers of its own; false: it has none, and the token's are all there are.
    func answerPlatformHeaders(
        _ call: Call, _ account: Account, _ role: Role, _ parameters: borrowing Parameters, route: String?
    ) throws(CallFailure) -> Bool {
        switch account.definition.platform {
        case .chatbase:
            try answerChatbaseHeaders(
                call, account, until: broker.clock.now.boot + timeToWait(parameters, call))
        case .kindly(let bot):
            guard let route = KindlyRoute(route, of: bot) else {
                throw CallFailure(
                    invalidParams:
                        "route must be 1 to 64 of a-z 0-9 / _ -, such as auth/chat, message, trigger or latest"
                )
            }
            try answerKindlyHeaders(call, account, role, parameters, bot, route)
        case .socialPlus, .described, nil: return false
        }
        return true
    }

    // MARK: Chatbase

    private func answerChatbaseHeaders(
        _ call: Call, _ account: Account, until deadline: BootTime
    ) throws(CallFailure) {
        try requireOpenStore()
        if let failure = account.session.standingFailure {
            throw CallFailure(failure, account: account.name)
        }
        withShownDevice(call, account, until: deadline) { [unowned self] device in
            let held = account.session.held
            let headers = ChatbaseRequests.headers(device: device, stored: held?.credential)
            // Nobody but the server says that an identity is over: it is sent until then, and said to be stale (R94).
            let isStale =
                held != nil
                && (!account.session.isUsable(at: now) || account.session.failures.last != nil)
            answer(
                call, account, headers, held == nil ? "anonymous" : "identified", isStale: isStale,
                hasToken: held != nil)
        }
    }

    /// Goes on with the device once nobody is signed in whom the server has not seen on it, and not behind the deadline.
    private func withShownDevice(
        _ call: Call, _ account: Account, until deadline: BootTime, _ body: @escaping (DeviceID) -> Void
    ) {
        broker.withDevice(of: account) { [unowned self] outcome in
            // It may have been stopped or configured anew while the device went to the disk.
            if let failure = account.session.standingFailure {
                return call.fail(CallFailure(failure, account: account.name))
            }
            switch outcome {
            case .failure(let failure): return call.fail(CallFailure(failure))
            case .success(let device) where !broker.isIdentityUnshown(account): return body(device)
            case .success: break
            }
            let waiter = wait(call, forRefreshOf: account) { [unowned self] answer in
                guard case .done = answer else { return fail(call, answer, account) }
                withShownDevice(call, account, until: deadline, body)
            }
            broker.showIdentity(of: account, until: deadline) { [unowned self] answer in
                self.broker(answers: waiter, for: account, answer)
            }
        }
    }

    // MARK: Kindly

    /// A chat goes on without a user where none can be had: then the list has no token, and says why (R7, R9).
    private func answerKindlyHeaders(
        _ call: Call, _ account: Account, _ role: Role, _ parameters: borrowing Parameters,
        _ bot: KindlyDefinition, _ route: KindlyRoute
    ) throws(CallFailure) {
        try requireOpenStore()
        let minValid = try parameters.seconds("min_valid") ?? .zero
        let wait = try timeToWait(parameters, call)
        let answerNow: (SessionFailure?) -> Void = { [unowned self] failure in
            broker.withChat(of: account) { [unowned self] outcome in
                guard case .success(let chat) = outcome else {
                    if case .failure(let failure) = outcome { call.fail(CallFailure(failure)) }
                    return
                }
                if let failure = account.session.standingFailure {
                    return call.fail(CallFailure(failure, account: account.name))
                }
                let credential = failure == nil ? account.session.held?.credential : nil
                let current = account.chat ?? chat
                let headers = KindlyRequests.headers(
                    bot, chat: current, credential: credential, route: route)
                answer(
                    call, account, headers, credential == nil ? "anonymous" : "authenticated",
                    isStale: credential != nil && account.session.failures.last != nil,
                    hasToken: credential != nil, chatToken: current.token, failure)
            }
        }
        if account.freshness.holds(at: now, minValid: minValid) { return answerNow(nil) }
        let waiter = self.wait(call, forRefreshOf: account) { [unowned self] answer in
            switch answer {
            case .session(.token): answerNow(nil)
            case .session(.failure(let failure)) where failure.leavesChatAnonymous: answerNow(failure)
            default: fail(call, answer, account)
            }
        }
        broker.apply(
            .tokenRequested(
                TokenRequest(waiter: waiter, minValid: minValid, wait: wait, force: false, role: role)),
            to: account)
    }

    // MARK: Answers

    /// Hands out a list of headers; one without a token, the user's or the chat's own, is no hand-out.
    private func answer(
        _ call: Call, _ account: Account, _ headers: [(name: String, value: SecretBytes)],
        _ state: StaticString, isStale: Bool, hasToken: Bool, chatToken: SecretBytes? = nil,
        _ failure: SessionFailure? = nil
    ) {
        var writer = JSONWriter(capacity: 1024)
        writer.beginObject()
        writer.key("headers")
        writer.beginArray()
        for (name, value) in headers {
            writer.beginArray()
            writer.string(name)
            writer.string(value)
            writer.endArray()
        }
        writer.endArray()
        writer.key("generation")
        writer.integer(account.session.generation.number)
        writer.moment("expires_at", hasToken ? account.session.schedule?.expiresAt : nil)
        writer.key("auth_state")
        writer.string(state)
        if isStale {
            writer.key("stale")
            writer.bool(true)
        }
        if let failure {
            let told = CallFailure(failure, account: account.name)
            writer.key("reason")
            writer.string(told.kindText)
        }
        writer.endObject()
        let result = writer.finish().finish()
        if hasToken || chatToken != nil {
            handOut(result, of: account, hasCredential: hasToken, chatToken: chatToken, to: call)
        } else {
            call.answer { writer in result.withSpan { writer.raw($0) } }
        }
    }
}

extension SessionFailure {
    /// Whether it means that there is no user, and not that nothing may be done.
    fileprivate var leavesChatAnonymous: Bool {
        switch self {
        case .noSource, .signInNeeded, .refresh, .deadlineExceeded: true
        case .stopped, .parked, .sealed, .gated, .rateLimited, .refusedTooOften, .store,
            .shuttingDown:
            false
        }
    }
}
