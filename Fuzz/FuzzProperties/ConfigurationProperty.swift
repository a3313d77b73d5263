import Configuration
import CredentialCore
import JSON
import Secrets

/// What holds for every file, whoever wrote it.
package enum ConfigurationProperty {
    /// A way in which a file showed the reader to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case readsDifferently
        case faultIsNotOneLine
        case faultOutsideOfFile
        case accountDoesNotReadBack
        case tooManyFaults
    }

    /// Half of all names exist, and some cannot be looked up.
    private struct SomeNames: NameResolver {
        func uid(of user: String) throws(NameResolutionFailure) -> UInt32? {
            guard !user.hasPrefix("!") else { throw NameResolutionFailure(code: 5) }
            return user.utf8.count.isMultiple(of: 2) ? 1000 : nil
        }

        func gid(of group: String) throws(NameResolutionFailure) -> UInt32? { try uid(of: group) }
    }

    /// Reads `bytes` as the main file: it is refused with places that exist, or all of its accounts survive the store.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        let content = bytes.withUnsafeBufferPointer(Array.init)
        let file = Configuration.File(path: "fuzz.toml", bytes: content, role: .main)
        let outcome = read(file)
        guard outcome == read(file) else { throw .readsDifferently }
        switch outcome {
        case .success(let configuration):
            for account in configuration.accounts { try checkRoundTrip(account) }
        case .failure(let failure):
            guard (1...100).contains(failure.faults.count) else { throw .tooManyFaults }
            let lines = content.count { $0 == UInt8(ascii: "\n") } + 1
            for fault in failure.faults {
                guard fault.line.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 >= 0x80 }),
                    fault.key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
                else { throw .faultIsNotOneLine }
                guard (1...(lines + 1)).contains(fault.position?.line ?? 1) else { throw .faultOutsideOfFile }
            }
        }
    }

    private static func read(_ file: Configuration.File) -> Result<Configuration, ConfigurationFailure> {
        Result { () throws(ConfigurationFailure) in
            try Configuration.read([file], defaults: .system, names: SomeNames())
        }
    }

    private static func checkRoundTrip(_ account: AccountDefinition) throws(Violation) {
        var definition = JSONWriter()
        AccountDefinitionJSON.writeDefinition(account, to: &definition)
        var policy = JSONWriter()
        AccountDefinitionJSON.writePolicy(account.access, to: &policy)
        let again = try? stored(account.name, definition.finish(), policy.finish())
        // Where it came from is what the store says of it, not what was written.
        guard let again, again.source == account.source, again.access == account.access,
            again.startsByItself == account.startsByItself
        else { throw .accountDoesNotReadBack }
    }

    private static func stored(
        _ name: AccountName, _ definition: consuming SecretBuffer, _ policy: consuming SecretBuffer
    ) throws -> AccountDefinition {
        let definition = definition.finish()
        let policy = policy.finish()
        return try definition.withSpan { definition in
            try policy.withSpan { policy in
                var one = JSONDocument()
                var other = JSONDocument()
                return try AccountDefinitionJSON.stored(
                    name: name, definition: one.parse(definition), policy: other.parse(policy))
            }
        }
    }
}
