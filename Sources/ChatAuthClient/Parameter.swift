import JSON
import Secrets

/// A value that is sent to the daemon.
public enum Parameter: Sendable {
    /// A text that is no secret.
    case text(String)
    /// A text that is one.
    case secret(Secret)
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case flag(Bool)
    /// Values in their order.
    case list([Parameter])
    /// Named values.
    case object([String: Parameter])

    func write(to writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.string(text)
        case .secret(let secret): secret.bytes.withSpan { writer.string(utf8: $0) }
        case .integer(let number): writer.integer(number)
        case .flag(let flag): writer.bool(flag)
        case .list(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for name in members.keys.sorted() {
                writer.key(named: name)
                members[name]?.write(to: &writer)
            }
            writer.endObject()
        }
    }
}

extension Parameter: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// A whole number.
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// True or false.
    public init(booleanLiteral flag: Bool) { self = .flag(flag) }
    /// Values in their order.
    public init(arrayLiteral elements: Parameter...) { self = .list(elements) }
    /// Named values; of two with one name the last counts.
    public init(dictionaryLiteral members: (String, Parameter)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
