import JSON

/// Why a control request, or a setting in a query, is refused.
///
/// Unlike the daemon's errors these repeat what came in: whoever reads them has just typed it, and nothing here is a secret.
enum ControlFailure: Error, Equatable {
    case json(JSONFailure)
    case notAnObject
    case tooLarge
    case unknownKey(String, known: [String])
    case missingKey(String)
    case wrongType(key: String, expected: String)
    case outOfRange(key: String, lowest: Int64, highest: Int64)
    case unknownWord(key: String, word: String, known: [String])
    case invalidName(String)
    case invalidHeader(key: String)
    case tooMany(key: String, highest: Int)
    /// It is no key, or none for the algorithm.
    case unusableKey(key: String)
    /// What a control request speaks of is not there.
    case notThere(String)

    /// What to tell the person or test that sent it.
    var message: String {
        switch self {
        case .json(let failure): "the body is not JSON: \(failure)"
        case .notAnObject: "the body must be a JSON object"
        case .tooLarge: "the body is larger than 1 MiB"
        case .unknownKey(let key, let known):
            "unknown key \"\(key)\"; known: \(known.joined(separator: ", "))"
        case .missingKey(let key): "\"\(key)\" is missing"
        case .wrongType(let key, let expected): "\"\(key)\" must be \(expected)"
        case .outOfRange(let key, let lowest, let highest):
            "\"\(key)\" must be between \(lowest) and \(highest)"
        case .unknownWord(let key, let word, let known):
            "\"\(key)\" cannot be \"\(word)\"; known: \(known.joined(separator: ", "))"
        case .invalidName(let name):
            "\"\(name)\" is no name: 1 to 64 of A-Z a-z 0-9 . _ @ -, not beginning with . or -"
        case .invalidHeader(let key):
            "\"\(key)\" must hold valid header field names and values without control characters"
        case .unusableKey(let key): "\"\(key)\" is no key for this algorithm"
        case .notThere(let what): "there is no such \(what)"
        case .tooMany(let key, let highest): "\"\(key)\" has more than \(highest) entries"
        }
    }
}
