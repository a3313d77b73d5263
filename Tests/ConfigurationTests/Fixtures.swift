import Configuration
import CredentialCore

/// Users and groups that every test agrees on.
struct FixedNames: NameResolver {
    func uid(of user: String) throws(NameResolutionFailure) -> UInt32? {
        switch user {
        case "root": 0
        case "chat": 1000
        case "broken": throw NameResolutionFailure(code: 5)
        default: nil
        }
    }

    func gid(of group: String) throws(NameResolutionFailure) -> UInt32? {
        group == "agents" ? 2000 : nil
    }
}

func main(_ text: String) -> Configuration.File {
    Configuration.File(path: "chatauthd.toml", bytes: Array(text.utf8), role: .main)
}

func accounts(_ name: String, _ text: String) -> Configuration.File {
    Configuration.File(path: "accounts.d/" + name, bytes: Array(text.utf8), role: .accounts)
}

func read(_ files: Configuration.File...) throws(ConfigurationFailure) -> Configuration {
    try Configuration.read(files, defaults: .system, names: FixedNames())
}

/// The lines that an operator sees; empty when nothing is wrong.
func lines(_ files: Configuration.File...) -> [String] {
    do throws(ConfigurationFailure) {
        _ = try Configuration.read(files, defaults: .system, names: FixedNames())
        return []
    } catch {
        return error.faults.map(\.line)
    }
}
