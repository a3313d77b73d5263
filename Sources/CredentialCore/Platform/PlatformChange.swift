/// A change of a state that only a platform's machine knows, as subscribers are told of it.
package struct PlatformChange: Equatable, Sendable {
    /// What the state is of; each has an event of its own.
    package enum Topic: String, Sendable, CaseIterable {
        /// Whether the platform takes the account's credential.
        case auth
        /// Who the user is.
        case identity
        /// The session with the platform.
        case session
    }

    /// A name of a state or of a cause: 1 to 64 of `a-z 0-9 _`, so that it can be written anywhere as it is.
    package struct Word: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name.
        package let text: String

        /// Takes text from outside; nil where it is no such name.
        package init?(_ text: String) {
            guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
            self.text = text
        }

        /// Takes a name of ours.
        package init(stringLiteral text: StaticString) { self.init(known: "\(text)") }

        /// Takes the name of one of a closed set of states.
        package init(_ state: some RawRepresentable<String>) { self.init(known: state.rawValue) }

        private init(known text: String) {
            guard let word = Word(text) else { preconditionFailure("a name of ours is a name") }
            self = word
        }

        private static func isAllowed(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// What changed.
    package let topic: Topic
    /// What it was; nil: nothing was said of it.
    package let from: Word?
    /// What it is now.
    package let to: Word
    /// Why.
    package let cause: Word

    /// Takes the parts.
    package init(_ topic: Topic, from: Word?, to: Word, cause: Word) {
        self.topic = topic
        self.from = from
        self.to = to
        self.cause = cause
    }
}
