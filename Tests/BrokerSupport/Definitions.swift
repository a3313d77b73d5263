package import CredentialCore
import Secrets

/// Accounts as tests need them.
package enum Definitions {
    /// An account whose source is a backend, an origin of its own unless `host` is given.
    package static func http(
        _ name: String, host: String? = nil, fields: FieldMap? = nil, headers: [HTTPSource.Header] = [],
        access: AccessRules = .nobody, startsByItself: Bool = true
    ) -> AccountDefinition {
        guard let url = try? HTTPURL("https://\(host ?? name).example/token") else {
            preconditionFailure("a test's URL is one")
        }
        return AccountDefinition(
            name: self.name(name), source: .http(HTTPSource(url: url, headers: headers, fields: fields)),
            access: access, startsByItself: startsByItself)
    }

    /// An account without a source.
    package static func plain(_ name: String, access: AccessRules = .nobody) -> AccountDefinition {
        AccountDefinition(name: self.name(name), access: access)
    }

    package static func name(_ text: String) -> AccountName {
        guard let name = AccountName(text) else { preconditionFailure("a test's name is one") }
        return name
    }

    /// One rule that admits a user.
    package static func user(_ uid: UInt32) -> [AccessRule] { [AccessRule(uid: uid)].compactMap { $0 } }

    /// A credential as an earlier run stored it.
    package static func stored(
        _ account: String, token: StaticString, generation: Int64, expiresAt: WallTime?, receivedAt: Instant,
        bootID: String = "boot-1", destination: String = "provider=generic"
    ) throws -> StoredCredential {
        let held = HeldCredential(
            credential: try Credential(idToken: SecretBytes(token), accessToken: nil),
            generation: Generation(generation), expiries: Expiries(hint: expiresAt), receivedAt: receivedAt,
            bootID: BootID(bootID), origin: .source, destination: Destination(destination))
        return StoredCredential(account: name(account), generation: held.generation, held: held)
    }
}
