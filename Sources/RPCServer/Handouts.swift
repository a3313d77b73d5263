import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import JSONRPC
import Secrets

/// Secrets leaving the process, and the audit log that knows of it first.
///
/// The first hand-out of a generation to a connection waits until its audit record is written; those that follow are counted, and
/// the count is noted within a second. Where the record cannot be written, nothing is handed out.
extension RPCServer {
    /// Answers that wait for one audit record.
    struct Handout {
        let client: Client
        let grip: Grip
        let generation: Generation
        var answers: [Answer]
        /// Whether a record before it is missing that answers here may rest on.
        var isSpoiled = false

        struct Answer {
            let call: Call
            let result: SecretBytes
            /// False: headers of a chat in which nobody is signed in, with the chat's own token.
            let hasCredential: Bool
        }
    }

    /// Answers the calls at the front of `bytes` that repeat the last one; returns how many bytes they take.
    ///
    /// For a client that owes no rest of a frame, and for which nothing is gathered.
    func answerRepeats(_ bytes: Span<UInt8>, _ client: Client) -> Int {
        guard let prepared = client.prepared, !client.isEnding, prepared.holds(at: now) else { return 0 }
        return answerRepeats(bytes, prepared, client, &output)
    }

    // One access to the buffer for all of it: each costs as much as copying a short answer.
    private func answerRepeats(
        _ bytes: Span<UInt8>, _ prepared: PreparedAnswer, _ client: Client, _ output: inout SecretBuffer
    ) -> Int {
        var start = 0
        while !client.isEnding {
            let number = output.appendRepeats(bytes, from: &start, prepared, piece: Self.outputPiece)
            guard number > 0 else { break }
            // Before they leave: a client that turns out to be gone has what it was given noted.
            if prepared.count(number) { noteLater(client) }
            output.withSpan { deliver($0, to: client) }
            output.rewind()
        }
        return start
    }

    /// Answers a frame that is a `token.get` in its usual form; false when it is anything else, or anything is out of the ordinary.
    func answerAtOnce(_ frame: Span<UInt8>, _ client: Client) -> Bool {
        guard let call = PlainCall(frame, usualGet) else { return false }
        let minValid = Milliseconds.seconds(call.number ?? 0)
        guard minValid.count <= 31_536_000_000, let account = broker.account(named: call.text),
            let (grip, result) = answerAtOnce(account, minValid: minValid, rawID: call.rawID, client)
        else { return false }
        // Who may only because of its unit is looked at anew with each request.
        // Ids differ in length, and a line that is too long is refused.
        if !grip.restsOnUnit, frame.count + PlainCall.idDigits <= limits.frameBytes {
            client.prepared = PreparedAnswer(
                RepeatedCall(frame, call, usualGet), minValid: minValid, grip: grip, result: result)
        }
        return true
    }

    /// The same for a request that was parsed because it is written in another way.
    func answerAtOnce(_ request: borrowing JSONRPCRequest, _ client: Client) -> Bool {
        guard request.method.isString("token.get"), let params = request.params, params.kind == .object else {
            return false
        }
        var found: Account?
        var minValid = Milliseconds.zero
        var members = params.members()
        while let member = members.next() {
            if member.key.isString("account") {
                guard member.value.kind == .string, !member.value.hasEscapes else { return false }
                found = broker.account(named: member.value.raw)
            } else if member.key.isString("min_valid") || member.key.isString("wait") {
                guard let seconds = member.value.integer, (0...31_536_000).contains(seconds) else {
                    return false
                }
                // What is there already is not waited for.
                if member.key.isString("min_valid") { minValid = .seconds(seconds) }
            } else {
                return false
            }
        }
        guard let account = found else { return false }
        return answerAtOnce(account, minValid: minValid, rawID: request.rawID, client) != nil
    }

    /// Answers for a fresh credential that this connection was given before; nil when anything is out of the ordinary.
    private func answerAtOnce(
        _ account: Account, minValid: Milliseconds, rawID: Span<UInt8>, _ client: Client
    ) -> (Grip, SecretBytes)? {
        let freshness = account.freshness
        guard let grip = client.heldGrip(on: account), grip.isWritten,
            freshness.generation == grip.auditedGeneration,
            freshness.holds(at: now, minValid: minValid),
            role(of: client, grip) != nil, let result = renderedToken(account)
        else { return nil }
        countRepeat(client, grip, .tokenGet)
        counters.answeredAtOnce += 1
        countPrepared(client)
        output.appendResponse(rawID: rawID, result: result)
        if output.count >= Self.outputPiece { flush() }
        return (grip, result)
    }

    @inline(__always)
    func role(of client: Client, _ grip: Grip) -> Role? {
        grip.role { rules in verdict(on: client, rules) }
    }

    private func verdict(on client: Client, _ rules: AccessRules) -> Policy.Verdict {
        policy().verdict(
            on: client.peer, isAdminSocket: client.connection.isAdminSocket, rules: rules,
            unit: { client.connection.unit })
    }

    /// The same without remembering it: who looks at all accounts must not take hold of them all.
    func role(of client: Client, on account: Account) -> Role? {
        verdict(on: client, account.definition.access).role
    }

    /// The result of `token.get` for a fresh credential, rendered once while nothing changes.
    @inline(__always)
    func renderedToken(_ account: Account) -> SecretBytes? {
        if let rendered = account.renderedToken { return rendered }
        let rendered = TokenReply.render(account, remarks: .none, now: now)
        account.renderedToken = rendered
        return rendered
    }

    /// Hands a rendered secret to a caller, once the audit log knows.
    ///
    /// Headers may have a chat's own token in them, beside a credential or alone: that is a secret of its own, and the first hand-out of
    /// it is written as well.
    func handOut(
        _ result: SecretBytes, of account: Account, hasCredential: Bool = true, chatToken: SecretBytes? = nil,
        to call: Call
    ) {
        let client = call.client
        guard !client.isEnding else {
            call.abandon()
            return
        }
        let grip = client.grip(on: account)
        if grip.restsOnUnit, role(of: client, grip) == nil {
            noteDenial(call, account.name, .noRule)
            call.fail(.accountUnknown)
            return
        }
        let answer = Handout.Answer(call: call, result: result, hasCredential: hasCredential)
        let generation = hasCredential ? account.session.generation : grip.auditedGeneration
        guard grip.auditedGeneration == generation, chatToken == nil || grip.chatToken === chatToken else {
            countPrepared(client)
            note(client, grip)
            grip.auditedGeneration = generation
            grip.chatToken = chatToken ?? grip.chatToken
            grip.isWritten = false
            let id = nextHandout()
            grip.handout = id
            handouts[id] = Handout(client: client, grip: grip, generation: generation, answers: [answer])
            audit.record(entry(client, call.method, grip, .handedOut, hasCredential), token: id)
            return
        }
        // The record of the first one is on its way to the disk.
        if let id = grip.handout {
            handouts[id]?.answers.append(answer)
            return
        }
        countRepeat(client, grip, call.method, hasCredential)
        counters.calledHandouts += 1
        call.answer { writer in result.withSpan { writer.raw($0) } }
    }

    func countRepeat(
        _ client: Client, _ grip: Grip, _ method: Method, _ hasCredential: Bool = true
    ) {
        let isListed = grip.hasRepeats
        switch method {
        case .headersGet where !hasCredential: grip.chatRepeats += 1
        case .headersGet: grip.headerRepeats += 1
        default: grip.repeats += 1
        }
        guard !isListed else { return }
        noteLater(client)
        client.repeatedGrips.append(grip)
    }

    private func noteLater(_ client: Client) {
        guard !client.isRepeating else { return }
        client.isRepeating = true
        repeating.append(client)
        needTick()
    }

    func noteAllRepeats() {
        let noted = repeating
        repeating.removeAll(keepingCapacity: true)
        for client in noted { noteRepeats(of: client) }
    }

    func noteRepeats(of client: Client) {
        client.isRepeating = false
        countPrepared(client)
        let grips = client.repeatedGrips
        client.repeatedGrips = []
        for grip in grips { note(client, grip) }
    }

    /// Brings the counts in line with what was answered from prepared answers.
    func countAllPrepared() {
        for client in repeating { countPrepared(client) }
    }

    private func countPrepared(_ client: Client) {
        guard let grip = client.prepared?.grip else { return }
        let isListed = grip.hasRepeats
        counters.answeredAtOnce += client.countPrepared()
        if !isListed, grip.hasRepeats { client.repeatedGrips.append(grip) }
    }

    /// Forgets the answer that is prepared for a client, if it has an account's token; what was handed out of it stays counted.
    func forgetPrepared(_ client: Client, of account: Account) {
        guard client.prepared?.grip.account === account else { return }
        countPrepared(client)
        client.prepared = nil
    }

    private func note(_ client: Client, _ grip: Grip) {
        let counts = [
            (Method.tokenGet, grip.repeats, true), (.headersGet, grip.headerRepeats, true),
            (.headersGet, grip.chatRepeats, false),
        ]
        for (method, count, hasCredential) in counts where count > 0 {
            audit.record(entry(client, method, grip, .repeated(count: count), hasCredential), token: nil)
        }
        grip.repeats = 0
        grip.headerRepeats = 0
        grip.chatRepeats = 0
    }

    private func entry(
        _ client: Client, _ method: Method, _ grip: Grip, _ decision: AuditEntry.Decision,
        _ hasCredential: Bool
    ) -> AuditEntry {
        AuditEntry(
            time: now.wall, peer: client.peer, unit: client.unit(isSystem: isSystem),
            connection: client.connection.id, method: method.rawValue, account: grip.account.name,
            generation: hasCredential ? grip.auditedGeneration : nil, decision: decision,
            reason: hasCredential ? nil : "chat_token")
    }
}
