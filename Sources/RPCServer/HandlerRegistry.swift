import CredentialCore

/// Who is asked for which account, and what was asked and not answered.
///
/// Registrations belong to an account's name, so that they outlive its stops, its starts and a reload (R29), and to a connection, with
/// which they end. The last to register is asked, alone (R28).
struct HandlerRegistry {
    typealias Kind = HandlerQuestion.Kind

    struct Registration {
        let client: Client
        /// What it said that it can give; one that gives both is asked for a credential (R26).
        var wishes: Set<SourceContext.Wish>
        let since: WallTime

        /// What it is asked for.
        var wish: SourceContext.Wish { wishes.contains(.credentials) ? .credentials : .token }
    }

    private struct Question {
        let id: UInt64
        let client: Client
        let account: AccountName
        let kind: Kind
    }

    private var registrations: [AccountName: [Kind: Registration]] = [:]
    // By the id that they have on the wire: counted in this direction alone.
    private var questions: [Int64: Question] = [:]
    private var wireIDs: [UInt64: Int64] = [:]
    private var lastWireID: Int64 = 0

    // MARK: Registrations

    func registration(for account: AccountName, _ kind: Kind) -> Registration? {
        registrations[account]?[kind]
    }

    /// The accounts that somebody is registered for, by name.
    var accounts: [AccountName] { registrations.keys.sorted { $0.text < $1.text } }

    /// What each client is registered for of an account, the first to register first.
    func registrations(for account: AccountName) -> [(registration: Registration, kinds: [Kind])] {
        var found: [(registration: Registration, kinds: [Kind])] = []
        for kind in Kind.allCases {
            guard let registration = registrations[account]?[kind] else { continue }
            if let index = found.firstIndex(where: { $0.registration.client === registration.client }) {
                found[index].kinds.append(kind)
            } else {
                found.append((registration, [kind]))
            }
        }
        return found.sorted { $0.registration.since < $1.registration.since }
    }

    /// Makes `client` the one that is asked; returns the kinds that it was not asked before, and who was.
    mutating func register(
        _ client: Client, for account: AccountName, _ kinds: [Kind], _ wish: SourceContext.Wish,
        at now: WallTime
    ) -> [(kind: Kind, before: Client?)] {
        var changes: [(kind: Kind, before: Client?)] = []
        for kind in kinds {
            let before = registrations[account]?[kind]
            if before?.client === client {
                registrations[account]?[kind]?.wishes.insert(wish)
                continue
            }
            registrations[account, default: [:]][kind] = Registration(
                client: client, wishes: [wish], since: now)
            changes.append((kind, before?.client))
        }
        return changes
    }

    /// Takes registrations of `client` away: of one account or all, of some kinds or all; returns them.
    mutating func unregister(
        _ client: Client, from account: AccountName? = nil, _ kinds: [Kind] = Kind.allCases
    ) -> [(account: AccountName, kind: Kind)] {
        var gone: [(account: AccountName, kind: Kind)] = []
        for name in account.map({ [$0] }) ?? accounts {
            for kind in kinds where registrations[name]?[kind]?.client === client {
                registrations[name]?[kind] = nil
                gone.append((name, kind))
            }
            if registrations[name]?.isEmpty == true { registrations[name] = nil }
        }
        return gone
    }

    // MARK: Questions

    /// Remembers a question, and gives it its id on the wire.
    mutating func ask(_ question: HandlerQuestion, of client: Client) -> Int64 {
        lastWireID += 1
        questions[lastWireID] = Question(
            id: question.id, client: client, account: question.context.account, kind: question.kind)
        wireIDs[question.id] = lastWireID
        return lastWireID
    }

    /// The question that `client` answers, and for which account; nil: it was not asked that, or not any more.
    mutating func take(_ wireID: Int64, from client: Client) -> (id: UInt64, account: AccountName)? {
        guard let question = questions[wireID], question.client === client else { return nil }
        forget(question.id)
        return (question.id, question.account)
    }

    mutating func forget(_ id: UInt64) {
        guard let wireID = wireIDs.removeValue(forKey: id) else { return }
        questions[wireID] = nil
    }

    /// Takes the questions that `client` will not answer, the oldest first.
    mutating func takeQuestions(
        to client: Client, where isConcerned: (AccountName, Kind) -> Bool = { _, _ in true }
    ) -> [UInt64] {
        let lost = questions.filter {
            $0.value.client === client && isConcerned($0.value.account, $0.value.kind)
        }.sorted { $0.key < $1.key }.map(\.value.id)
        for id in lost { forget(id) }
        return lost
    }
}
