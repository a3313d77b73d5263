import JSON
import Secrets

/// Results for people: a line a member; what this program does not know is shown as it came.
extension SecretBuffer {
    /// Appends each member of `object` as `name: value`; members of objects in it as `outer.inner: value`.
    ///
    /// Sentences in an array are a line each, since they have commas of their own. A time that has a twin for people (`…_text`) is
    /// shown as that. With a width, the values stand below one another.
    mutating func append(lines object: JSONValue, prefix: String = "", width: Int = 0, colour: Bool = false) {
        var cursor = object.members()
        while let member = cursor.next() {
            guard let name = member.key.string else { continue }
            if name.hasSuffix("_text"), object.member(named: String(name.dropLast(5))) != nil { continue }
            let twin = object.member(named: name + "_text")
            let value: JSONValue
            if let twin, twin.kind == .string { value = twin } else { value = member.value }
            if value.kind == .object, value.count > 0 {
                append(lines: value, prefix: prefix + name + ".", width: width, colour: colour)
                continue
            }
            if value.hasSentences {
                var cursor = value.elements()
                while let sentence = cursor.next() {
                    append(label: prefix + name, width: width)
                    append(shown: sentence)
                    append("\n")
                }
                continue
            }
            append(label: prefix + name, width: width)
            if let seconds = value.moment(named: prefix.isEmpty ? name : prefix) {
                append(rfc3339: seconds)
            } else {
                append(shown: value, colour: colour && name == "state")
            }
            append("\n")
        }
    }

    private mutating func append(label: String, width: Int) {
        append(printable: label)
        append(":")
        append(spaces: max(width - label.unicodeScalars.count, 0) + 1)
    }

    /// Appends one value: a text without quotes, `-` for null, elements with commas between them.
    mutating func append(shown value: JSONValue, colour: Bool = false) {
        switch value.kind {
        case .string:
            let text = value.string ?? ""
            let code = colour ? Colour(state: text) : nil
            if let code { append(code.begin) }
            append(printable: text)
            if code != nil { append("\u{1B}[0m") }
        case .null: append("-")
        case .array:
            var cursor = value.elements()
            var isFirst = true
            while let element = cursor.next() {
                if !isFirst { append(", ") }
                isFirst = false
                append(shown: element)
            }
            if isFirst { append("-") }
        default: value.raw.withUnsafeBufferPointer { append(printable: String(decoding: $0, as: UTF8.self)) }
        }
    }

    mutating func append(spaces count: Int) {
        for _ in 0..<count { append(" ") }
    }

    /// Appends an event: its name, then `name=value` for each of its members.
    mutating func append(event method: JSONValue, _ params: JSONValue?) {
        append(printable: method.string ?? "")
        if let params { append(words: params) }
    }

    /// Appends what a subscription begins with: a line for each account that is followed, and one for the store.
    mutating func append(stateOf answer: JSONValue) {
        if let accounts = answer.member("accounts"), accounts.kind == .array {
            var cursor = accounts.elements()
            while let account = cursor.next() {
                append("state")
                if account.kind == .object { append(words: account) }
                append("\n")
            }
        }
        guard let store = answer.member("store"), store.kind == .string else { return }
        append("state store=")
        append(shown: store)
        append("\n")
    }

    /// Appends every member as ` name=value`.
    private mutating func append(words params: JSONValue) {
        var cursor = params.members()
        while let member = cursor.next() {
            guard let name = member.key.string, !member.value.isNull else { continue }
            if name.hasSuffix("_text"), params.member(named: String(name.dropLast(5))) != nil { continue }
            append(" ")
            append(printable: name)
            append("=")
            if let twin = params.member(named: name + "_text"), twin.kind == .string {
                append(shown: twin)
            } else if let seconds = member.value.moment(named: name) {
                append(rfc3339: seconds)
            } else if member.value.kind == .string, !member.value.isOneWord {
                member.value.rawToken.withUnsafeBufferPointer {
                    append(printable: String(decoding: $0, as: UTF8.self))
                }
            } else if member.value.kind == .string {
                append(shown: member.value)
            } else {
                member.value.raw.withUnsafeBufferPointer {
                    append(printable: String(decoding: $0, as: UTF8.self))
                }
            }
        }
    }
}

extension JSONValue {
    /// The seconds of a member that is a moment, as its name says: those that end in `_at`, and all of `expiries`.
    fileprivate func moment(named name: String) -> Int64? {
        guard kind == .number, name.hasSuffix("_at") || name == "expiries." else { return nil }
        return wholeSeconds(self)
    }

    /// Whether a text can stand without quotes in a line of words.
    fileprivate var isOneWord: Bool {
        guard !raw.isEmpty, !hasEscapes else { return false }
        for index in raw.indices where raw[index] == UInt8(ascii: " ") { return false }
        return true
    }

    /// Whether it is an array with an element of more than a word.
    fileprivate var hasSentences: Bool {
        guard kind == .array else { return false }
        var cursor = elements()
        while let element = cursor.next() {
            guard element.kind == .string else { continue }
            for index in element.raw.indices where element.raw[index] == UInt8(ascii: " ") { return true }
        }
        return false
    }

    /// The longest label that `append(lines:)` writes for it.
    var labelWidth: Int {
        var width = 0
        var cursor = members()
        while let member = cursor.next() {
            let own = member.key.string?.unicodeScalars.count ?? 0
            let inner = member.value.kind == .object ? member.value.labelWidth + 1 : 0
            width = max(width, own + inner)
        }
        return width
    }
}

/// The colour of an account's, the store's or the daemon's state.
enum Colour {
    case good, waiting, bad, resting

    init?(state: String) {
        switch state {
        case "fresh", "ready", "open", "running", "usable": self = .good
        case "due", "refreshing", "stale", "starting", "stopping", "spending", "no_token": self = .waiting
        case "expired", "sign_in_needed", "parked", "sealed", "possibly_spent", "dead": self = .bad
        case "stopped", "unused": self = .resting
        default: return nil
        }
    }

    var begin: StaticString {
        switch self {
        case .good: "\u{1B}[32m"
        case .waiting: "\u{1B}[33m"
        case .bad: "\u{1B}[31m"
        case .resting: "\u{1B}[2m"
        }
    }
}
