package import CredentialCore
import Log
import OAuth
package import Secrets

/// What is known of a grant, for people; never what it is.
package struct GrantOutlook: Sendable {
    /// The grant, without its refresh token being anybody's business.
    package let held: HeldGrant
    /// Whether an earlier attempt may have spent it.
    package let isUncertain: Bool
    /// Whether the newest refresh token is in memory only.
    package let isOnlyInMemory: Bool
    /// Why the last request brought nothing; nil: it did, or there was none.
    package let lastFailure: RefreshFailure?
    /// The accounts that spend it, by name.
    package let accounts: [AccountName]
    /// Whether every one of them wants it sent somewhere else.
    package let isParked: Bool
}

/// Grants coming and going.
extension Broker {
    /// Every grant that is there, by name.
    package var grants: [GrantOutlook] {
        keeper.all.compactMap { session in
            guard let held = session.held else { return nil }
            let users = accountsSpending(session.name)
            return GrantOutlook(
                held: held, isUncertain: session.isUncertain, isOnlyInMemory: session.isOnlyInMemory,
                lastFailure: session.lastFailure, accounts: users.map(\.name),
                isParked: !users.isEmpty
                    && users.allSatisfy { oauthSource(of: $0)?.destination != held.destination })
        }
    }

    /// The grant of that name, if there is one.
    package func grant(named name: GrantName) -> HeldGrant? { keeper.session(name)?.held }

    /// The accounts whose source spends a grant, by name.
    package func accountsSpending(_ grant: GrantName) -> [Account] {
        accounts.sorted().filter { account in
            if case .refreshToken(grant) = oauthSource(of: account)?.flow { true } else { false }
        }
    }

    func oauthSource(of account: Account) -> OAuthSource? {
        if case .oauth(let source) = account.definition.source { source } else { nil }
    }

    /// Takes a refresh token, or replaces the one that is there: answered once it is on disk.
    package func importGrant(
        _ name: GrantName, _ refreshToken: SecretBytes, _ destination: Destination, scope: String?,
        waiter: WaiterID
    ) {
        guard !isShuttingDown else {
            observer?.broker(answers: waiter, for: nil, .shuttingDown)
            return
        }
        keeper.importGrant(name, refreshToken, destination, scope: scope, waiter: waiter)
        scheduleWake()
    }

    /// Forgets a grant: answered once that is on disk, and once the server was told where `revoke` says so.
    package func deleteGrant(_ name: GrantName, revoke: Bool, waiter: WaiterID) {
        let held = keeper.session(name)?.held
        // Never to anywhere but where it was meant for, to be revoked neither.
        let spender = accountsSpending(name).lazy.compactMap { self.oauthSource(of: $0) }.first {
            $0.destination == held?.destination
        }
        ownWaiter { [weak self] inner in
            self?.keeper.delete(name, waiter: inner)
        } completion: { [weak self] failure in
            guard let self else { return }
            if let failure {
                observer?.broker(answers: waiter, for: nil, .storeFailed(failure))
            } else if revoke, let held {
                guard let spender else {
                    observer?.broker(
                        answers: waiter, for: nil, .revoked(RefreshFailure(.sourceUnavailable)))
                    return
                }
                self.revoke([(held.refreshToken, .refreshToken)], of: spender) { [weak self] failure in
                    self?.observer?.broker(answers: waiter, for: nil, .revoked(failure))
                }
            } else {
                observer?.broker(answers: waiter, for: nil, .done)
            }
        }
    }

    // MARK: What keeper and exchange report

    func grantChanged(_ name: GrantName, _ change: GrantChange) {
        switch change {
        case .imported(let generation):
            log.log(
                .notice, "Grant imported", id: MessageID.grantImported, (.grant, .public(name.text)),
                (.generation, .integer(generation.number)))
            renewSources(signsIn: true) { definition in
                guard case .oauth(let source) = definition.source else { return false }
                return source.flow == .refreshToken(grant: name)
            }
        case .deleted:
            log.log(.notice, "Grant deleted", id: MessageID.grantDeleted, (.grant, .public(name.text)))
        case .rotated(let generation):
            log.log(
                .info, "Grant spent, its successor is stored", (.grant, .public(name.text)),
                (.generation, .integer(generation.number)))
        case .dead:
            log.log(
                .error, "The server declared a grant void", id: MessageID.grantDead,
                (.grant, .public(name.text)))
        case .possiblySpent:
            log.log(
                .error, "A grant is possibly spent and is not sent again", id: MessageID.grantPossiblySpent,
                (.grant, .public(name.text)))
        case .uncertain:
            log.log(
                .warning, "The answer for a grant was lost, it is tried once more",
                id: MessageID.grantUncertain, (.grant, .public(name.text)))
        case .notStored(let failure):
            log.log(
                .error, "A spent grant's successor is in memory only, the store refused it",
                id: MessageID.grantNotStored, (.grant, .public(name.text)), (.reason, .public("\(failure)")))
        }
    }

    func secretPromoted(_ source: OAuthSource, _ index: Int) {
        log.log(
            .notice, "Another client secret is the one that works now", id: MessageID.secretPromoted,
            (.origin, .public(source.endpoints.token?.origin ?? "")), (.count, .integer(Int64(index + 1))))
    }
}
