package import CredentialCore
import Secrets

/// A store in memory that keeps the contract of a real one: a change is there as a whole or not at all, and is answered later.
package final class MemoryStore: StorePort {
    package weak var observer: (any StoreObserver)?
    /// Answers every change with this instead of doing it.
    package var failure: StoreFailure?
    /// Which changes that is said of; nil: every one.
    package var refusedChanges: ((StoreChange.Operation) -> Bool)?
    /// Answers every question with this.
    package var readFailure: StoreFailure?
    /// A disk that does not answer.
    package var isHeld = false
    package private(set) var waiting: [StoreChange] = []
    package private(set) var submitted: [StoreChange] = []
    package private(set) var credentials: [AccountName: StoredCredential] = [:]
    package private(set) var accounts: [AccountName: StoredAccount] = [:]
    package private(set) var grants: [GrantName: StoredGrant] = [:]
    package private(set) var secrets: [SecretName: HeldSecret] = [:]
    package private(set) var states: [PlatformStateName: StoredState] = [:]
    package private(set) var reopenings = 0
    private var questions: [(id: UInt64, account: AccountName, behind: UInt64?)] = []
    package var lastWrittenAt: WallTime?

    package init() {}

    package func submit(_ change: StoreChange) {
        // As on disk: what is stored are not the bytes that are in memory.
        let copy = StoreChange(id: change.id, change.operation.copied)
        waiting.append(copy)
        submitted.append(copy)
    }

    package func read(_ id: UInt64, credentialOf account: AccountName) {
        questions.append((id, account, behind: waiting.last?.id))
    }

    package func reopen() { reopenings += 1 }

    /// All that a later start would find.
    package var contents: StoreContents {
        StoreContents(
            credentials: credentials.values.sorted { $0.account < $1.account },
            accounts: accounts.values.sorted { $0.name < $1.name },
            grants: grants.values.sorted { $0.name < $1.name },
            secrets: secrets.values.sorted { $0.name < $1.name }, states: Array(states.values),
            lastWrittenAt: lastWrittenAt, epoch: 1)
    }

    /// Puts a grant in as an earlier run would have left it.
    package func put(_ grant: HeldGrant) {
        grants[grant.name] = StoredGrant(name: grant.name, generation: grant.generation, held: grant)
    }

    /// Puts a secret in as an earlier run would have left it.
    package func put(_ secret: HeldSecret) { secrets[secret.name] = secret }

    /// Puts a state in as an earlier run would have left it.
    package func put(_ state: StoredState) { states[state.name] = state }

    /// Puts a credential in as an earlier run would have left it.
    package func put(_ stored: StoredCredential) { credentials[stored.account] = stored }

    /// Does the oldest change and answers it; false when there is none.
    @discardableResult
    package func completeOne() -> Bool {
        guard !isHeld else { return false }
        if let question = questions.first, !waiting.contains(where: { $0.id == question.behind }) {
            questions.removeFirst()
            let outcome: Result<StoredCredential?, StoreFailure> =
                readFailure.map { .failure($0) } ?? .success(credentials[question.account]?.copied)
            observer?.storeDidRead(question.id, outcome)
            return true
        }
        guard !waiting.isEmpty else { return false }
        let change = waiting.removeFirst()
        let isRefused = refusedChanges?(change.operation) ?? true
        let outcome = isRefused ? failure ?? perform(change.operation) : perform(change.operation)
        observer?.storeDidComplete(StoreCompletion(id: change.id, failure: outcome))
        return true
    }

    private func perform(_ operation: StoreChange.Operation) -> StoreFailure? {
        switch operation {
        case .putCredential(let account, let held, let expected):
            let stored = credentials[account]?.generation ?? .none
            guard stored == expected, stored < held.generation || expected == held.generation else {
                return .conflict(stored: stored)
            }
            credentials[account] = StoredCredential(
                account: account, generation: held.generation, held: held)
        case .deleteCredential(let account, let generation, let expected):
            let stored = credentials[account]?.generation ?? .none
            guard stored == expected, stored < generation else { return .conflict(stored: stored) }
            credentials[account] = StoredCredential(account: account, generation: generation, held: nil)
        case .putAccount(let name, let definition, let policy):
            accounts[name] = StoredAccount(name: name, definition: definition, policy: policy)
        case .deleteAccount(let name):
            accounts[name] = nil
            credentials[name] = nil
            states[.account(name)] = nil
        case .putGrant(let grant, let expected):
            let stored = grants[grant.name]?.generation ?? .none
            guard stored == expected, stored <= grant.generation else { return .conflict(stored: stored) }
            grants[grant.name] = StoredGrant(
                name: grant.name, generation: grant.generation, held: grant)
        case .deleteGrant(let name, let generation, let expected):
            let stored = grants[name]?.generation ?? .none
            guard stored == expected, stored < generation else { return .conflict(stored: stored) }
            grants[name] = StoredGrant(name: name, generation: generation, held: nil)
        case .putSecret(let secret): secrets[secret.name] = secret
        case .deleteSecret(let name): secrets[name] = nil
        case .putState(let name, let content): states[name] = StoredState(name: name, content: content)
        case .deleteState(let name): states[name] = nil
        }
        return nil
    }
}

extension StoreChange.Operation {
    fileprivate var copied: StoreChange.Operation {
        guard case .putCredential(let account, let held, let expected) = self else { return self }
        return .putCredential(account: account, held.copied, expected: expected)
    }
}

extension StoredCredential {
    fileprivate var copied: StoredCredential {
        StoredCredential(account: account, generation: generation, held: held?.copied)
    }
}

extension HeldCredential {
    fileprivate var copied: HeldCredential {
        precondition(credential != nil, "what is stored has its tokens")
        let tokens = [credential?.idToken, credential?.accessToken].map { token in
            token.map { $0.withSpan { SecretBytes(copying: $0) } }
        }
        return HeldCredential(
            credential: try? Credential(
                idToken: tokens[0], accessToken: tokens[1], issuer: credential?.issuer),
            generation: generation, expiries: expiries, receivedAt: receivedAt, bootID: bootID,
            origin: origin, destination: destination)
    }
}
