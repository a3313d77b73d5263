import Configuration
import Glibc

/// Where this instance keeps its things (file-hierarchy(7); the XDG base directories for a user).
struct Places {
    let configuration: String
    let accountsDirectory: String
    let isConfigurationRequired: Bool
    let stateDirectory: String
    let epochDirectory: String
    let auditDirectory: String
    let runtimeDirectory: String
    private let isSystem: Bool
    /// Nil: the key is handed over later.
    let keyFile: String?

    init(_ arguments: Arguments, environment: (String) -> String?) throws(Arguments.Failure) {
        isSystem = arguments.isSystem
        let configuration: String
        if arguments.isSystem {
            configuration = arguments.configuration ?? "/etc/chatauth/chatauthd.toml"
            stateDirectory = arguments.stateDirectory ?? "/var/lib/chatauth"
            epochDirectory = "/var/lib/chatauth-epoch"
            auditDirectory = "/var/log/chatauth"
            runtimeDirectory = arguments.runtimeDirectory ?? "/run/chatauth"
            keyFile = arguments.keyFile
        } else {
            func base(_ variable: String, _ fallback: String) throws(Arguments.Failure) -> String {
                if let path = environment(variable), path.hasPrefix("/") { return path }
                guard let home = environment("HOME"), home.hasPrefix("/") else {
                    throw Arguments.Failure(message: "neither \(variable) nor HOME says where to keep things")
                }
                return home + fallback
            }
            let configurations = try base("XDG_CONFIG_HOME", "/.config") + "/chatauth"
            let states = try base("XDG_STATE_HOME", "/.local/state") + "/chatauth"
            configuration = arguments.configuration ?? configurations + "/chatauthd.toml"
            if let directory = arguments.stateDirectory {
                stateDirectory = directory
            } else {
                stateDirectory = try base("XDG_DATA_HOME", "/.local/share") + "/chatauth"
            }
            epochDirectory = states + "/epoch"
            auditDirectory = states + "/audit"
            if let directory = arguments.runtimeDirectory {
                runtimeDirectory = directory
            } else if let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") {
                runtimeDirectory = directory + "/chatauth"
            } else {
                throw Arguments.Failure(
                    message: "XDG_RUNTIME_DIR is not set; --runtime-directory says where the socket is made")
            }
            keyFile = arguments.keyFile ?? configurations + "/master.key"
        }
        self.configuration = configuration
        isConfigurationRequired = arguments.configuration != nil
        let slash = configuration.lastIndex(of: "/")
        accountsDirectory = (slash.map { String(configuration[..<$0]) } ?? ".") + "/accounts.d"
    }

    /// Makes the directories that are missing, 0700, with those above them as `mkdir -p` does.
    func makeDirectories() {
        for path in [stateDirectory, epochDirectory, auditDirectory] { Self.make(path) }
        // Everybody must be able to reach the sockets of the system: who gets what is the rules' business.
        let isNew = access(runtimeDirectory, F_OK) != 0
        Self.make(runtimeDirectory)
        if isNew, isSystem { chmod(runtimeDirectory, 0o755) }
        if let keyFile, let slash = keyFile.lastIndex(of: "/") { Self.make(String(keyFile[..<slash])) }
    }

    // A failure shows where the directory is used, which knows what for.
    private static func make(_ path: String) {
        var index = path.startIndex
        while let slash = path[index...].dropFirst().firstIndex(of: "/") {
            mkdir(String(path[..<slash]), 0o700)
            index = slash
        }
        mkdir(path, 0o700)
    }
}
