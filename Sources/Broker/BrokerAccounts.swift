package import CredentialCore
import Log
import Providers
package import Secrets

/// Accounts coming, changing and going.
extension Broker {
    /// Whether an account with that name is there, is on its way to the disk, or is hidden by a configured one.
    package func isTaken(_ name: AccountName) -> Bool {
        accounts.find(name) != nil || adding.contains(name) || added[name] != nil
    }

    /// Adds an account over RPC, one whose name is not taken: answered once it is on disk.
    package func addAccount(
        _ definition: AccountDefinition, definitionText: SecretBytes, policyText: SecretBytes,
        waiter: WaiterID
    ) {
        adding.insert(definition.name)
        submit(.putAccount(name: definition.name, definition: definitionText, policy: policyText)) {
            [weak self] failure in
            guard let self else { return }
            adding.remove(definition.name)
            if let failure {
                observer?.broker(answers: waiter, for: nil, .storeFailed(failure))
                return
            }
            added[definition.name] = definition
            // Between the question and the answer of the disk a reload may have brought the name in: files win.
            if accounts.find(definition.name) == nil {
                let account = add(definition)
                observer?.broker(added: account)
            }
            observer?.broker(answers: waiter, for: accounts.find(definition.name), .accountAdded)
        }
    }

    /// Removes an account that came over RPC, with its credential: answered once that is on disk.
    package func removeAccount(_ account: Account, waiter: WaiterID) {
        // Nothing may be stored for it behind its removal.
        let wasActive = account.session.standing == .active
        stop(account)
        account.isLeaving = true
        memory.leave(.account(account.name))
        submit(.deleteAccount(name: account.name)) { [weak self] failure in
            guard let self else { return }
            account.isLeaving = false
            // It stays after all: what was not stored meanwhile is now.
            if failure != nil { rememberPlatform(of: account) }
            if failure == nil { added[account.name] = nil }
            if account.definition.origin == .rpc, failure == nil {
                account.isForgotten = true
                memory.forget(.account(account.name))
                drop(account.name)
                dormant[account.name] = nil
                observer?.broker(removed: account)
            } else if wasActive, !account.isGone {
                start(account)
            }
            observer?.broker(
                answers: waiter, for: account, failure.map { .storeFailed($0) } ?? .accountRemoved)
        }
    }

    /// Forgets an account's credential, and gives up whatever would bring one.
    ///
    /// Where somebody signs in and out, this is neither: a source that comes later is asked (R30).
    package func forget(_ account: Account, waiter: WaiterID) {
        endCommands(of: account, .signInNeeded(.signedOut, retryAfter: nil))
        account.platform?.lane?.forget()
        apply(.deleted(waiter: waiter, signsOut: !account.definition.hasSignIn), to: account)
    }

    /// Lets time pass for an account.
    func wakeUp(_ account: Account) {
        apply(.wokeUp, to: account)
        apply(.wokeUp, toBindingOf: account)
        wakeSession(of: account)
        wakeShowing(of: account)
        wakeCheck(of: account)
    }

    // MARK: Parts

    @discardableResult
    func add(_ definition: AccountDefinition) -> Account {
        let now = clock.now
        let session = CredentialSession(traits: traits(of: definition), standing: .sealed)
        let account = Account(
            definition: definition, session: session, accessVersion: accessVersion, now: now)
        accounts.insert(account)
        if storeState == .open { open(account, now) }
        tellAppearance(of: account, now)
        return account
    }

    /// Puts back what was stored for an account, and lets it work.
    func open(_ account: Account, _ now: Instant) {
        if let stored = dormant.removeValue(forKey: account.name) { restore(stored, to: account, now) }
        openPlatform(of: account)
        // It rested when it vanished from the configuration: what it holds is on disk only.
        let isShelved = account.session.isShelved
        account.session.unseal(standing: isShelved ? .stopped : standing(of: account.definition))
        openSession(of: account)
        spread(account)
        settle(account, now)
        tellGeneration(of: account)
        tellIdentity(account, cause: "opened")
        tellWarnings(of: account)
        openIdentity(of: account)
        if isShelved, account.definition.startsByItself { start(account) }
    }

    func change(_ account: Account, to definition: AccountDefinition) {
        let old = account.definition
        guard old != definition else { return }
        account.definition = definition
        // Its rules may be others: verdicts that were reached a moment ago are not to be trusted.
        accessVersion += 1
        account.accessVersion = accessVersion
        if account.session.standing != .sealed { reconfigurePlatform(of: account, from: old) }
        let now = clock.now
        let effects = account.session.reconfigure(
            traits(of: definition), sourceChanged: old.source != definition.source, at: now)
        settle(account, now)
        carryOut(effects, for: account)
        tellIdentity(account, cause: "reconfigured")
        tellWarnings(of: account)
        // It may be another device that it has now.
        showIdentity(of: account) { _ in }
        openSession(of: account)
        reviewSupplier(of: account)
        if old.source != definition.source { endCheck(of: account, .session(.failure(.stopped))) }
        if old.startsByItself != definition.startsByItself || old.origin != definition.origin {
            if definition.startsByItself { start(account) } else { stop(account) }
        }
    }

    func drop(_ name: AccountName) {
        guard let account = accounts.find(name) else { return }
        // With its tokens, where it works: it works again as soon as it is back.
        let stored = Self.stored(account)
        endCommands(of: account, .stopped)
        endSession(of: account, .stopped)
        observer?.broker(removes: account)
        // That it stops is part of its going.
        account.isTold = false
        apply(.stopped, to: account)
        endCheck(of: account, .session(.failure(.stopped)))
        wakes.schedule(account, at: nil)
        if let second = account.dueSecond { crowd.leave(second) }
        account.dueSecond = nil
        accounts.remove(name)
        account.isGone = true
        if account.session.standing != .sealed { dormant[name] = stored }
    }

    /// Keeps up what is known of a vanished account: a change that was on its way to the disk has arrived.
    func keepDormant(_ account: Account) {
        let known = dormant[account.name]?.generation ?? .none
        guard !account.isForgotten, accounts.find(account.name) == nil, known < account.session.generation
        else { return }
        dormant[account.name] = Self.stored(account)
    }

    private static func stored(_ account: Account) -> StoredCredential? {
        guard account.session.generation > .none else { return nil }
        return StoredCredential(
            account: account.name, generation: account.session.generation, held: account.session.held)
    }

    func standing(of definition: AccountDefinition) -> CredentialSession.Standing {
        definition.startsByItself ? .active : .stopped
    }

    func traits(of definition: AccountDefinition) -> CredentialSession.Traits {
        var deadline = Milliseconds.seconds(15)
        let source = liveSource(of: definition)
        switch source {
        case .http(let source): deadline = max(deadline, Milliseconds(source.timeout.count + 2000))
        // A token and what is to be known of it: two requests in a row.
        case .oauth(let source): deadline = max(deadline, Milliseconds(source.timeout.count * 2 + 2000))
        // Its own time-out comes first, and says more.
        case .rpc: deadline = max(deadline, Milliseconds(definition.callbackTimeout.count + 2000))
        default: break
        }
        // An exchange with the platform may follow, and a device may have to reach the disk before it.
        if let platform = definition.platform {
            deadline = Milliseconds(deadline.count + platform.transport.timeout.count + 2000)
        }
        var hasSource = source != nil
        var needsHandler = source == nil && definition.source != nil
        if case .socialPlus = definition.platform {
            deadline = max(deadline, Milliseconds(definition.callbackTimeout.count + 2000))
            hasSource = hasSupplier(definition)
            needsHandler = !hasSource
        }
        return CredentialSession.Traits(
            hasSource: hasSource, destination: definition.destination, bootID: clock.bootID,
            refreshDeadline: deadline, staysSignedOut: definition.hasSignIn,
            needsHandler: needsHandler, early: definition.earlyFraction)
    }
}
