/// What the command line says.
struct Options {
    var port: UInt16 = 0
    var tlsPort: UInt16?
    var certificate: String?
    var key: String?
    var wantsHelp = false
    var wantsVersion = false

    static let usage = """
        usage: chatauth-sandbox [--port N] [--tls-port N --certificate FILE --key FILE] [--print-ports]

        Serves local stand-ins of the servers that chatauth talks to, on 127.0.0.1 only, until SIGTERM or SIGINT.
          --port N            port for HTTP; 0 (the default) takes any free one
          --tls-port N        port for HTTPS; 0 (the default) takes any free one
          --certificate FILE  certificate chain for HTTPS, PEM
          --key FILE          its private key, PEM
          --print-ports       print "listening http=PORT https=PORT" once ready; this always happens
          --version           print the version
          --help              print this

        Stand-ins, each name one of its own, there as soon as it is first spoken to, with settings below /_sandbox/:
          /backend/NAME/token             a customer's server that issues tokens
          /kindly/NAME/chatbubble/v2/...  Kindly; POST /_sandbox/kindly/NAME/mint makes a token
          /idp/NAME/...                   an identity provider; POST /_sandbox/idp/NAME/grant makes its first tokens
          /chatbase/NAME/api/sdk/...      Chatbase; POST /_sandbox/chatbase/NAME/mint makes a token
          /socialplus/NAME/api/v4/...     social.plus; POST /_sandbox/socialplus/NAME/mint, and .../users to ban

        https=none where there is no certificate. Routes, settings and faults: docs/sandbox.md.

        """

    /// Why a command line is refused; each becomes one line on standard error.
    enum Failure: Error {
        case unknown(String)
        case noValue(String)
        case notAPort(String)
        case incomplete

        var message: String {
            switch self {
            case .unknown(let option): "unknown option \(option)"
            case .noValue(let option): "\(option) needs a value"
            case .notAPort(let option): "\(option) needs a number from 0 to 65535"
            case .incomplete: "HTTPS needs both --certificate and --key"
            }
        }
    }

    init(_ arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            // `--port=1` and `--port 1` are the same.
            let parts = argument.split(separator: "=", maxSplits: 1).map { String($0) }
            let option = parts.first ?? argument
            if parts.count == 2 { rest = [parts[1]] + rest }
            switch option {
            case "--port": port = try Self.port(option, &rest)
            case "--tls-port": tlsPort = try Self.port(option, &rest)
            case "--certificate": certificate = try Self.value(option, &rest)
            case "--key": key = try Self.value(option, &rest)
            case "--print-ports" where parts.count == 1: break
            case "--version" where parts.count == 1: wantsVersion = true
            case "--help" where parts.count == 1: wantsHelp = true
            default: throw .unknown(argument)
            }
        }
        guard (certificate == nil) == (key == nil), tlsPort == nil || certificate != nil else {
            throw .incomplete
        }
    }

    private static func value(_ option: String, _ rest: inout ArraySlice<String>) throws(Failure) -> String {
        guard let value = rest.popFirst() else { throw .noValue(option) }
        return value
    }

    private static func port(_ option: String, _ rest: inout ArraySlice<String>) throws(Failure) -> UInt16 {
        guard let port = UInt16(try value(option, &rest)) else { throw .notAPort(option) }
        return port
    }
}
