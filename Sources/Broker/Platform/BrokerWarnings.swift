package import CredentialCore
import Providers

/// What is noticeable about credentials at chat platforms, told when it appears (R40).
extension Broker {
    /// Tells of each warning that was not there when this was looked at last; one that is gone is told again when it comes back.
    func tellWarnings(of account: Account) {
        // Of one that rests nothing is seen; what was told of it stays told.
        guard account.isTold, !account.isGone, !account.session.isShelved else { return }
        let known = account.warned ?? []
        // Until when the platform honours the credential is known when it is bound: until then it is as it was.
        let isAwaited = account.platform?.binding?.isAwaited ?? false
        let warnings = account.warnings(at: clock.now)?.filter { warning in
            !isAwaited || warning != PlatformChange.Word(KindlyAdvice.opaqueWithoutExpiry)
                || known.contains(warning)
        }
        account.warned = warnings
        for warning in warnings ?? [] where !known.contains(warning) {
            observer?.broker(warns: warning, of: account)
        }
    }
}

extension Account {
    /// Everything that is noticeable about what is held (R15, R18, R24, R40, R83, R201, R202); nil where the platform has no words for it.
    package func warnings(at now: Instant) -> [PlatformChange.Word]? {
        let held = session.held
        let credential = held?.credential
        let notes = credential.map { credential in
            CredentialNote.on(credential, expiryFlaw: expiryFlaw).map { PlatformChange.Word($0) }
        }
        switch definition.platform {
        case .kindly(let bot):
            guard let held, let credential else { return [] }
            return KindlyAdvice.on(
                credential, for: bot, chatID: chat?.id, hasExpiry: held.expiries.earliest != nil
            ).map { PlatformChange.Word($0) } + (notes ?? [])
        case .chatbase:
            guard let credential else { return [] }
            return ChatbaseClaims.warnings(credential.bearer, now: now.wall).map {
                PlatformChange.Word($0)
            }
        case .socialPlus:
            guard held != nil, let schedule = session.schedule else { return [] }
            return SocialPlusAdvice.on(schedule).map { PlatformChange.Word($0) } + (notes ?? [])
        case .described, nil: return notes.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Why the platform's answer does not say until when what is held holds.
    var expiryFlaw: BindAnswer.ExpiryFlaw? {
        guard let known = platform?.expiryFlaw, let held = session.held,
            known.bearer.isOf(held)
        else { return nil }
        return known.flaw
    }
}
