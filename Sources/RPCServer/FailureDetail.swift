import CredentialCore
import Providers

/// What messages say of a failure beyond its kind: what was answered, and what went wrong on the way.
extension CallFailure {
    /// What is known of a failure beyond its kind: nothing, or a colon and a few words.
    static func detail(_ failure: RefreshFailure, _ definition: AccountDefinition? = nil) -> String {
        switch failure.cause {
        case .fetch(let cause), .origin(.fetch(let cause)): ": " + words(for: cause)
        case .origin(.status(let status)): ": status \(status)"
        case .file(let cause): ": " + words(for: cause, definition?.references(of: failure.party) ?? [])
        case .secretMissing(let name):
            definition == nil
                ? ": a secret that the configuration names is not set"
                : ": there is no secret \(name); chatauth secret set \(name) sets it"
        case .signing(let cause): ": \(cause.rawValue)"
        case .verification(let cause): ": \(cause.rawValue)"
        case .store: ": the store refused it"
        case .handler(.notJSON): ": its answer was not JSON"
        case .handler(.unmatched):
            ": its answer was no JSON-RPC response with the id of the question"
        case .handler(.idAsText): ": its answer had the id as a text, and not as the number that it is"
        case .handler(.notResponse):
            ": its answer was no JSON-RPC 2.0 response, which has jsonrpc, and a result or an error but not both, not even null"
        case .handler(.absent), .handler(.rejected), .handlersAnswer, .chatReplaced, .token: ""
        case .chatUnknown:
            ": it does not know the chat, or not its token" + (reply(failure).map { ": " + $0 } ?? "")
        case .calledOver(let end): ", and says that it ended at \(RFC3339.text(end) ?? String(end.seconds))"
        case nil: reply(failure).map { ": " + $0 } ?? ""
        }
    }

    /// What was answered, in brackets behind a few words; nothing where nothing was.
    static func answer(_ failure: RefreshFailure?) -> String {
        failure.flatMap(reply).map { " (\($0))" } ?? ""
    }

    // A code is checked to be printable and short where it is read.
    private static func reply(_ failure: RefreshFailure) -> String? {
        let status = failure.httpStatus.map { "status \($0)" }
        let code = failure.providerCode.flatMap { $0 == ChatbaseAnswer.unknownCode ? nil : "code \($0)" }
        let parts = [status, code].compactMap(\.self)
        guard !parts.isEmpty else { return nil }
        let isRedirect = failure.httpStatus.map { (300..<400).contains($0) } ?? false
        return parts.joined(separator: ", ") + (isRedirect ? "; redirects are not followed" : "")
    }

    private static func words(for failure: FileFailure, _ references: [SecretReference]) -> String {
        switch failure {
        case .missing(let index): file(index, of: references) + " is missing"
        case .unsafe(let index):
            file(index, of: references)
                + " is open to others, a link, or somebody else's; chmod 600 closes it"
        case .tooLarge(let index): file(index, of: references) + " is too large"
        case .unreadable(let index, _): file(index, of: references) + " cannot be read"
        }
    }

    /// A file as it is configured, where that is known; files are counted without the secrets of the store.
    private static func file(_ index: Int, of references: [SecretReference]) -> String {
        var files = references
        files.removeAll { if case .secret = $0 { true } else { false } }
        guard files.indices.contains(index) else { return "a file that the configuration names" }
        switch files[index] {
        case .file(let path) where path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }: return path
        case .credential(let name): return "the systemd credential \(name)"
        case .file, .secret: return "a file that the configuration names"
        }
    }

    private static func words(for failure: FetchFailure) -> String {
        switch failure {
        case .nameNotResolved: "its name does not resolve"
        case .connectionFailed: "nothing accepts the connection"
        case .connectionLost: "the connection broke off"
        case .timeout: "it took longer than its timeout"
        case .connectTimeout: "no connection came about in time"
        case .certificateExpired: "its certificate has expired, or this clock is wrong"
        case .certificateWrongHost: "its certificate is for another host"
        case .certificateUntrusted:
            "its certificate is from an authority that is not trusted; ca_file names one that is"
        case .tlsFailed: "the TLS handshake failed"
        case .caFileUnreadable: "ca_file cannot be read by the fetch worker"
        case .proxyFailed: "the proxy failed"
        case .tooLarge: "its answer is too large"
        case .badRequest: "the request cannot be sent as configured"
        case .malformedResponse: "its answer is not HTTP"
        case .workerLost: "the fetch worker ended or does not answer"
        case .workerNotStarted: "there is no fetch worker to ask"
        case .tooManyRequests: "too many requests are out"
        }
    }
}

extension AccountDefinition {
    /// What has to be at hand before that party can be asked.
    fileprivate func references(of party: RefreshFailure.Party) -> [SecretReference] {
        switch party {
        case .source: source?.references ?? []
        case .platform: platform?.references ?? []
        }
    }
}
