package import CredentialCore
import Log
package import Secrets

/// Secrets that configuration refers to: set once, never read back.
extension Broker {
    /// Every secret, by name.
    package var secretsByName: [HeldSecret] { secrets.values.sorted { $0.name < $1.name } }

    /// The accounts whose source or platform refers to a secret, by name.
    package func accounts(referringTo secret: SecretName) -> [AccountName] {
        accounts.sorted().filter { account in
            account.definition.refers(to: secret)
        }.map(\.name)
    }

    /// Sets a secret, or replaces it: answered once it is on disk.
    package func setSecret(_ name: SecretName, _ value: SecretBytes, waiter: WaiterID) {
        lastSecretGeneration = lastSecretGeneration.next
        let held = HeldSecret(
            name: name, value: value, generation: lastSecretGeneration, setAt: clock.now.wall)
        submit(.putSecret(held)) { [weak self] failure in
            guard let self else { return }
            if failure == nil {
                secrets[name] = held
                log.log(.notice, "Secret set", id: MessageID.secretSet, (.secret, .public(name.text)))
                renewSources(signsIn: false) { $0.refers(to: name) }
            }
            observer?.broker(answers: waiter, for: nil, failure.map { .storeFailed($0) } ?? .done)
        }
    }

    /// Removes a secret: answered once that is on disk.
    ///
    /// Accounts that refer to it have nothing to show from then on.
    package func deleteSecret(_ name: SecretName, waiter: WaiterID) {
        submit(.deleteSecret(name: name)) { [weak self] failure in
            guard let self else { return }
            if failure == nil {
                secrets[name] = nil
                log.log(.notice, "Secret deleted", id: MessageID.secretDeleted, (.secret, .public(name.text)))
            }
            observer?.broker(answers: waiter, for: nil, failure.map { .storeFailed($0) } ?? .done)
        }
    }

    func loadSecrets(_ stored: [HeldSecret]) {
        for secret in stored {
            secrets[secret.name] = secret
            lastSecretGeneration = max(lastSecretGeneration, secret.generation)
        }
    }

    /// Lets accounts try again at once: what they need was replaced.
    func renewSources(signsIn: Bool, where isConcerned: (AccountDefinition) -> Bool) {
        for account in accounts.sorted() where isConcerned(account.definition) {
            let outdatesHeld = !signsIn && account.definition.source?.isMadeOfSecrets == true
            apply(.sourceRenewed(signsIn: signsIn, outdatesHeld: outdatesHeld), to: account)
        }
    }
}

extension AccountDefinition {
    fileprivate func refers(to secret: SecretName) -> Bool {
        [source?.references, platform?.references].contains { $0?.contains(.secret(secret)) ?? false }
    }
}
