import Configuration
import Log

/// What the command line says, and what the environment says in its place.
struct Arguments {
    var isSystem = false
    var configuration: String?
    var stateDirectory: String?
    var runtimeDirectory: String?
    var keyFile: String?
    var fetchSocket: String?
    /// What is logged, whatever the configuration says; nil: what that says.
    var logLevel: LogLevel?
    var showsHelp = false
    var showsVersion = false

    static let help = """
        usage: chatauthd [--system] [--config FILE] [--state-directory DIR] [--runtime-directory DIR] [--key-file FILE]
                         [--fetch-socket PATH] [--verbose]

        Holds credentials and hands valid tokens to local programs. Runs in the foreground; SIGHUP reads the configuration
        again, SIGTERM ends it.

          --system                 the instance for the whole machine; without it, one user's own
          --config FILE            chatauthd.toml; accounts.d beside it is read as well
          --state-directory DIR    where the encrypted store lies
          --runtime-directory DIR  where chatauth.sock is made, unless systemd gives sockets
          --key-file FILE          the master key; a user's own instance makes it on the first start
          --fetch-socket PATH      the fetch worker is behind that socket; without it, it is started as a child
          --verbose                log everything; $CHATAUTHD_LOG: error, warning, notice, info or debug
          --help, --version

        """

    /// Why arguments cannot be used: a sentence for people.
    struct Failure: Error {
        let message: String
    }

    init(_ words: [String], environment: (String) -> String?) throws(Failure) {
        if let name = environment("CHATAUTHD_LOG"), !name.isEmpty {
            guard let level = DaemonSettings.logLevel(named: name) else {
                throw Failure(message: "CHATAUTHD_LOG must be error, warning, notice, info or debug")
            }
            logLevel = level
        }
        var rest = words[...]
        while let word = rest.popFirst() {
            let (name, attached) = Self.split(word)
            func value() throws(Failure) -> String {
                guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
                    throw Failure(message: "\(name) needs a value")
                }
                return value
            }
            switch name {
            case "--system": isSystem = true
            case "--config": configuration = try value()
            case "--state-directory": stateDirectory = try value()
            case "--runtime-directory": runtimeDirectory = try value()
            case "--key-file": keyFile = try value()
            case "--fetch-socket": fetchSocket = try value()
            case "--verbose": logLevel = .debug
            case "--help", "-h": showsHelp = true
            case "--version": showsVersion = true
            default: throw Failure(message: "unknown argument; chatauthd --help lists them")
            }
        }
    }

    private static func split(_ word: String) -> (name: String, value: String?) {
        guard word.hasPrefix("--"), let equals = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.index(after: equals)...]))
    }
}
