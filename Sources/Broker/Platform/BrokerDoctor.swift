package import CredentialCore
package import Providers

/// What is known of an account, for whoever explains it; nothing is changed by looking.
extension Broker {
    /// Gathers it; `completion` comes later where two tokens have to be compared or read, else within this call.
    package func facts(of account: Account, completion: @escaping (AccountFacts) -> Void) {
        withTokens(of: account) { [self] _ in
            var facts = facts(of: account)
            guard let credential = account.session.held?.credential,
                case .undecided(let hash) = CompanionCheck.of(credential)
            else { return completion(facts) }
            signer.halfHash(of: hash.accessToken, hash.digest.algorithm) { outcome in
                if case .success(let half) = outcome { facts.isPair = hash.isMatched(by: half) }
                completion(facts)
            }
        }
    }

    private func facts(of account: Account) -> AccountFacts {
        let now = clock.now
        let session = account.session
        var facts = AccountFacts(
            definition: account.definition, now: now, state: session.state(at: now))
        facts.held = session.held
        facts.schedule = session.schedule
        facts.isUsable = session.isUsable(at: now)
        facts.isOnlyInMemory = session.isOnlyInMemory
        facts.generation = session.generation
        facts.failure = session.failures.last
        facts.signIn = session.signIn
        facts.signInFailure = session.signInFailure
        facts.isIdentityUnverified = isIdentityUnshown(account)
        facts.missingSecrets = missingSecrets(of: account)
        facts.handlers = Set(
            HandlerQuestion.Kind.allCases.filter { desk.hasHandler(for: account.name, $0) })
        // What it said to somebody who signed in stands with the refresh that this was.
        let ofRefresh = session.failures.last.flatMap { $0.party == .platform ? $0 : nil }
        facts.platformFailure = account.platform?.bindFailure ?? ofRefresh
        if let state = account.platform?.binding?.state {
            facts.binding = state.state
            facts.bindCause = state.cause
        }
        facts.session = account.socialPlus
        facts.loginSetback = account.platform?.work.loginSetback
        facts.renewalSetback = account.platform?.work.renewalSetback
        facts.chatID = account.chat?.id
        facts.isChatKnown = account.chat?.isKnownToPlatform ?? false
        facts.isChatTokenMissing = account.chat?.lacksToken ?? false
        facts.isChatAttached = account.chat?.isAttached ?? false
        facts.expiryFlaw = account.expiryFlaw
        return facts
    }

    private func missingSecrets(of account: Account) -> [SecretName] {
        guard storeState == .open else { return [] }
        let definition = account.definition
        return ((definition.source?.references ?? []) + (definition.platform?.references ?? []))
            .compactMap { reference in
                if case .secret(let name) = reference, secrets[name] == nil { name } else { nil }
            }
    }

    /// Whether the wall clock is earlier than what was last written with it: what is stored is then refreshed first.
    package var isClockBehind: Bool { lastWrittenAt.map { clock.now.wall < $0 } ?? false }

    /// Asks an account's platform for something that changes nothing, and answers with the status; nil: it has no platform.
    ///
    /// Any answer shows that name, route, proxy and certificate are as they must be.
    package func probe(
        _ account: Account, completion: @escaping (Result<PlatformProbe.Answer, RefreshFailure>?) -> Void
    ) {
        guard let platform = account.definition.platform else { return completion(nil) }
        let device = device(of: account)
        caller.send(to: platform, for: account.name, in: Attempt(), isProbe: true) {
            _ throws(RefreshFailure) in
            try PlatformProbe.request(platform, device: device)
        } read: { response in
            PlatformProbe.read(response, of: platform)
        } completion: {
            completion($0)
        }
    }
}
