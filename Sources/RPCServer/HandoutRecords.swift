import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Secrets

/// What the audit log says of hand-outs: only now does a secret leave that waited for its record.
extension RPCServer: AuditObserver {
    /// Lets the secret leave that waited for its record, or refuses it with `audit_unwritable`.
    package func auditDidWrite(_ token: UInt64, isWritten: Bool) {
        guard let handout = handouts.removeValue(forKey: token) else { return }
        let grip = handout.grip
        let isComplete = isWritten && !handout.isSpoiled
        if grip.handout == token {
            grip.handout = nil
            grip.isWritten = isComplete
        }
        if !isWritten {
            grip.auditedGeneration = .none
            grip.chatToken = nil
            // A user's token and the chat's own have a record each: a later one says nothing of what an earlier one was to say.
            for (id, later) in handouts where later.grip === grip { handouts[id]?.isSpoiled = true }
        }
        var isFirst = true
        for answer in handout.answers {
            if let refusal = isComplete ? objection(to: answer, of: handout) : Self.auditUnwritable {
                answer.call.fail(refusal)
                continue
            }
            counters.calledHandouts += 1
            if !isFirst, grip.auditedGeneration == handout.generation {
                countRepeat(handout.client, grip, answer.call.method, answer.hasCredential)
            }
            isFirst = false
            answer.call.answer { writer in answer.result.withSpan { writer.raw($0) } }
        }
    }

    private static var auditUnwritable: CallFailure {
        CallFailure(
            .auditUnwritable, "the audit log cannot be written, so nothing is handed out",
            retryAfter: .seconds(1))
    }

    /// What happened while the record was on its way and forbids the hand-out.
    private func objection(to answer: Handout.Answer, of handout: Handout) -> CallFailure? {
        let account = handout.grip.account
        guard !account.isGone, role(of: handout.client, handout.grip) != nil else { return .accountUnknown }
        if let failure = account.session.standingFailure {
            return CallFailure(failure, of: account)
        }
        let isSignedOut =
            account.session.held == nil || account.session.signedOutGeneration > handout.generation
        guard answer.hasCredential, isSignedOut else { return nil }
        return CallFailure(.signInNeeded(.signedOut, retryAfter: nil), account: account.name)
    }
}
