package import CredentialCore
import Providers
import Secrets

/// What accounts are at their platforms: read from the store, kept there, and the commands that change it.
extension Broker {
    // MARK: Memory

    /// Puts back what was remembered of an account at its platform, once the store is open.
    func openPlatform(of account: Account) {
        let definition = account.definition
        guard let initial = AccountPlatform.initial(definition.platform) else {
            account.platform = nil
            return
        }
        let platform = AccountPlatform(state: initial)
        account.platform = platform
        var bound: Generation?
        defer { openBinding(of: account, bound: bound) }
        guard var row = memory[.account(account.name)].flatMap(PlatformRow.init) else { return }
        row.move(to: definition.destination)
        platform.ownDevice = row.device.flatMap { DeviceID($0) }
        platform.earlier = row.earlier
        bound = row.stay.bound
        if let forgotten = row.stay.forgotten {
            platform.forgotten = forgotten
            account.session.restoreForgetting(forgotten)
        }
        guard let state = row.stay.state else { return }
        switch initial {
        case .chatbase:
            if let identity = ChatbaseIdentity(json: state) { platform.state = .chatbase(identity) }
        case .kindly: platform.state = .kindly(KindlyChat(json: state))
        case .socialPlus: platform.work.record = SocialPlusRecord(json: state)
        case .described: break
        }
    }

    /// Remembers what an account is at its platform now, and the chat that is to be its own, to which nothing is bound yet.
    func rememberPlatform(
        of account: Account, completion: @escaping (StoreFailure?) -> Void = { _ in }
    ) {
        guard let platform = account.platform, !account.isForgotten, !account.isLeaving else {
            return completion(nil)
        }
        let chatToCome = platform.chatsBeingStored.last?.chat
        let state: SecretBytes? =
            switch platform.state {
            case .chatbase(let identity): identity.json()
            case .kindly(let chat): (chatToCome ?? chat)?.json()
            case .socialPlus: platform.work.record?.json()
            case .described: nil
            }
        let stay = PlatformRow.Stay(
            destination: account.definition.destination, state: state,
            bound: chatToCome == nil ? platform.binding?.boundGeneration : nil, forgotten: platform.forgotten)
        let row = PlatformRow(stay: stay, device: platform.ownDevice?.text, earlier: platform.earlier)
        memory.put(.account(account.name), row.json(), completion: completion)
    }

    /// Remembers whether the credential that was just deleted was signed out: what the store has of it does not say so.
    func rememberForgetting(of account: Account) {
        guard let platform = account.platform else { return }
        let forgotten = account.session.isSignedOutOnPurpose ? nil : account.session.generation
        guard forgotten != platform.forgotten else { return }
        platform.forgotten = forgotten
        rememberPlatform(of: account)
    }

    /// Tells once what is remembered of an account is on disk, within this call where it is.
    package func whenRemembered(_ account: Account, completion: @escaping (StoreFailure?) -> Void) {
        memory.whenStored(.account(account.name), completion: completion)
    }

    /// Another destination is another life: nothing of the old one is true there, and what was true there before is again.
    func reconfigurePlatform(of account: Account, from old: AccountDefinition) {
        guard old.destination != account.definition.destination || old.provider != account.definition.provider
        else {
            // The same session under other rules.
            if case .socialPlus(let network) = account.definition.platform,
                case .socialPlus(var machine) = account.platform?.state
            {
                machine.rules = SocialPlusRules(network)
                account.platform?.state = .socialPlus(machine)
            }
            // What is bound goes on to be so; when and how that is done may be another now.
            if Self.bindTraits(of: account.definition) != account.platform?.binding?.traits
                || Self.bindTraits(of: account.definition) != Self.bindTraits(of: old)
            {
                let bound = account.platform?.binding?.boundGeneration
                endBinding(of: account)
                openBinding(of: account, bound: bound)
            }
            return
        }
        endCommands(of: account, .parked)
        endSession(of: account, .parked)
        endBinding(of: account)
        let device = account.platform?.ownDevice
        openPlatform(of: account)
        account.platform?.ownDevice = device
    }

    // MARK: Commands

    /// Why the platform is not asked for something now; nil: it may be (R95: what it asks for itself counts as well).
    func rest(of account: Account) -> SessionFailure? {
        account.platform?.pace.rest(at: clock.now.boot)
    }

    /// Remembers how something that somebody wanted ended at the platform.
    func commandEnded(_ account: Account, _ failure: RefreshFailure?) {
        guard let failure else {
            account.platform?.pace.succeed()
            return
        }
        account.platform?.pace.fail(failure, at: clock.now, draw: ports.draw())
    }

    /// Begins a command, or has it wait for the one that is under way; with `takesParked` also where what is held is parked.
    func command(
        _ account: Account, takesParked: Bool = false, giveUp: @escaping (SessionFailure) -> Void,
        begin: @escaping (Attempt) -> Void
    ) {
        guard !isShuttingDown else { return giveUp(.shuttingDown) }
        guard let platform = account.platform else {
            return giveUp(account.session.standingFailure ?? .sealed)
        }
        let standing = account.session.standingFailure
        if let standing, !(takesParked && standing == .parked) { return giveUp(standing) }
        if let failure = rest(of: account) { return giveUp(failure) }
        guard platform.commands.count < AccountPlatform.commandLimit else {
            return giveUp(.rateLimited(retryAfter: .seconds(1)))
        }
        platform.commands.append(AccountPlatform.Command(attempt: Attempt(), begin: begin, giveUp: giveUp))
        if platform.commands.count == 1 { beginCommand(of: account) }
    }

    private func beginCommand(of account: Account) {
        while let platform = account.platform, let command = platform.commands.first {
            // What came of the one before counts for those that waited behind it.
            guard let failure = rest(of: account) else { return command.begin(command.attempt) }
            platform.commands.removeFirst()
            command.attempt.cancel()
            command.giveUp(failure)
        }
    }

    /// Ends the command that is under way and begins the next.
    func endCommand(of account: Account, _ attempt: Attempt) {
        attempt.end()
        guard let platform = account.platform, platform.commands.first?.attempt === attempt else { return }
        platform.commands.removeFirst()
        beginCommand(of: account)
    }

    /// Gives every command up that is not decided yet.
    func endCommands(of account: Account, _ failure: SessionFailure) {
        guard let platform = account.platform else { return }
        let commands = platform.commands
        platform.commands = []
        for command in commands where !command.attempt.isOver {
            command.attempt.cancel()
            command.giveUp(failure)
        }
    }
}
