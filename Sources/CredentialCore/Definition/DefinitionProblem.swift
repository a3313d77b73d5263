/// What is wrong with one value of a description.
package enum DefinitionProblem: Equatable, Sendable {
    /// No such key here; the nearest one that there is.
    case unknownKey(nearest: String?)
    case missing
    case wrongType(expected: DefinitionType, found: DefinitionType)
    case outOfRange(from: Int64, to: Int64)
    case notOneOf([String])
    /// The same, where what was written is nearly one of them.
    case nearly(String, of: [String])
    /// Meant for a later version: refused, because a rule or a source that is ignored is worse.
    case notAvailable
    /// Only configuration may say this: whoever adds an account over RPC could otherwise read files of the daemon.
    case notOverRPC
    case accountName
    case ruleWithoutUserOrGroup
    /// The name of a unit that is no service or scope.
    case unitName
    case unknownUser
    case unknownGroup
    /// The name service failed; its errno.
    case nameService(code: Int32)
    /// The secret itself, where only a reference to it may stand.
    case literalSecret
    /// A reference, where everybody who may use the account is told the value.
    case secretForClients
    /// A reference is exactly one of `file`, `credential` and `secret`.
    case notOneReference
    case credentialName
    case relativePath
    /// Empty, too long, or a character that has no business there.
    case malformedText
    case url(HTTPURL.Failure)
    case proxy
    case headerName
    /// A header that the transport sets, or that another key is for.
    case headerReserved
    case headerValue
    case headerTwice
    /// A placeholder that is none of these.
    case placeholder([String])
    /// A placeholder where nothing is put in.
    case placeholderHere
    /// A GET request has no body.
    case bodyNotTaken
    case memberName
    /// Fields that name no token.
    case fieldsWithoutToken
    /// Fields where the file is the token.
    case fieldsWithoutJSON
    /// Neither `id_token` nor `access_token`.
    case withoutToken
    case moment
    case tooMany(limit: Int)
    /// The name of a grant or a secret that is none.
    case entryName
    /// Neither `issuer` nor `token_endpoint`.
    case withoutIssuer
    /// A grant where none is spent.
    case grantWithoutRefresh
    /// Not beside the way in which the client proves who it is.
    case contradiction
    /// A claim that the source sets, or that has a key of its own.
    case claimReserved
    /// Both of two keys of which one is needed, or neither.
    case notOneOfKeys(String, String)
    /// A base that paths are put behind has no query.
    case baseWithQuery
    /// A path that is put behind a base.
    case relativeRoute
    /// A part of a life.
    case fraction
    /// The form of the source says it already.
    case setByForm
    /// Fields where the answer is the token.
    case fieldsWithText

    /// For people: what is wrong, and where it helps what to do.
    package var message: String {
        switch self {
        case .unknownKey(let nearest):
            nearest.map { "unknown key; did you mean \"\($0)\"?" } ?? "unknown key"
        case .missing: "this key is needed"
        case .wrongType(let expected, let found):
            "expected \(expected.rawValue), found \(found.rawValue)"
        case .outOfRange(let from, let to): "must be between \(from) and \(to)"
        case .notOneOf(let values): "must be one of " + values.joined(separator: ", ")
        case .nearly(let nearest, let values):
            "must be one of " + values.joined(separator: ", ") + "; did you mean \"\(nearest)\"?"
        case .notAvailable: "not available in this version"
        case .notOverRPC: "not allowed for an account that is added over RPC; write it into a file"
        case .accountName:
            "an account's name is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -"
        case .ruleWithoutUserOrGroup: "a rule needs a user or a group"
        case .unitName: "must be the whole name of a system service or scope, as kiosk.service"
        case .unknownUser: "no such user"
        case .unknownGroup: "no such group"
        case .nameService(let code): "the name service failed (errno \(code)); try again"
        case .literalSecret:
            "a secret must not stand here; refer to it with { secret = \"name\" }, { file = \"/path\" } or { credential = \"name\" }"
        case .secretForClients:
            "a secret cannot stand here, since whoever may use the account is told it; use a text with {bearer}"
        case .notOneReference: "needs exactly one of secret, file and credential"
        case .credentialName:
            "a credential's name is 1 to 255 of A-Z a-z 0-9 . _ - and does not begin with ."
        case .relativePath: "must be an absolute path"
        case .malformedText: "empty, too long, or with a character that is not allowed here"
        case .url(let failure): Self.message(failure)
        case .proxy: "must be http://host:port or https://host:port"
        case .headerName: "not the name of a header (RFC 9110 §5.1)"
        case .headerReserved: "this header is set by the daemon or by another key"
        case .headerValue: "a header's value is printable ASCII without line ends, at most 8192 bytes"
        case .headerTwice: "this header is there already"
        case .placeholder(let names):
            "the placeholders are " + names.map { "{\($0)}" }.joined(separator: ", ")
        case .placeholderHere: "nothing is put in here: a placeholder would be sent as it stands"
        case .bodyNotTaken: "a request with this method has no body"
        case .memberName: "must be names of members, with dots between them"
        case .fieldsWithoutToken: "names no token; needs token, id_token or access_token"
        case .fieldsWithoutJSON: "needs format = \"json\""
        case .withoutToken: "needs id_token or access_token"
        case .moment: "must be seconds since 1970 or a date with time and offset"
        case .tooMany(let limit): "at most \(limit) are allowed here"
        case .entryName:
            "the name of a grant or a secret is 1 to 64 of A-Z a-z 0-9 . _ @ - and does not begin with . or -"
        case .withoutIssuer: "needs issuer or token_endpoint"
        case .grantWithoutRefresh: "grant_type = \"client_credentials\" spends no grant"
        case .contradiction: "does not go with this client_authentication"
        case .notOneOfKeys(let one, let other): "needs exactly one of \(one) and \(other)"
        case .baseWithQuery: "has no query; paths are put behind it"
        case .relativeRoute:
            "must be a path without a slash at its beginning or end, without query, . and .."
        case .fraction: "must be a number from 0.1 to 1"
        case .setByForm: "the form of this source sets it"
        case .fieldsWithText: "an answer that is the token has no fields"
        case .claimReserved:
            "iat and exp are set by the daemon; issuer, subject and audience are keys beside claims"
        }
    }

    private static func message(_ failure: HTTPURL.Failure) -> String {
        switch failure {
        case .notAbsolute: "must be an absolute URL"
        case .schemeNotAllowed: "only https is allowed"
        case .plainTextNotLoopback: "plain http is allowed to 127.0.0.1 and [::1] only; use https"
        case .userInformation: "user and password must not stand in a URL; use a header"
        case .fragment: "a URL that is requested has no fragment"
        case .badHost: "the host is malformed"
        case .badPort: "the port is malformed"
        case .badByte: "spaces, control and non-ASCII characters must be escaped in a URL"
        case .tooLong: "a URL has at most 2048 bytes"
        }
    }
}

/// A problem, and which value has it.
package struct DefinitionFault: Equatable, Sendable {
    /// The keys from the root, with dots between them: `account.support-bot.source.url`; printable ASCII.
    package let key: String
    /// Nil where the text has no lines.
    package let position: TextPosition?
    /// What is wrong.
    package let problem: DefinitionProblem

    /// A problem of the value of `key`.
    package init(key: String, position: TextPosition?, problem: DefinitionProblem) {
        self.key = key
        self.position = position
        self.problem = problem
    }

    /// For people, on one line.
    package var message: String { key.isEmpty ? problem.message : "\(key): \(problem.message)" }
}

/// Gathers faults, so that whoever wrote the text can mend them all at once.
package final class DefinitionFaults {
    /// In the order in which they were found.
    package private(set) var list: [DefinitionFault] = []
    /// Whether there were more than `limit`.
    package private(set) var isTruncated = false
    private let limit: Int

    /// Keeps the first `limit` faults.
    package init(limit: Int = 20) { self.limit = limit }

    /// Takes a fault, or only remembers that there was one more.
    package func add(_ key: String, _ position: TextPosition?, _ problem: DefinitionProblem) {
        guard list.count < limit else {
            isTruncated = true
            return
        }
        list.append(DefinitionFault(key: key, position: position, problem: problem))
    }
}

extension DefinitionProblem {
    /// Why a text is none of `values`, with the one that is probably meant.
    static func unknown(_ text: String, of values: [String]) -> DefinitionProblem {
        NearestKey.find(text, among: values).map { .nearly($0, of: values) } ?? .notOneOf(values)
    }
}
