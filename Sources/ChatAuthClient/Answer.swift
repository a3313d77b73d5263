import JSON
import Secrets

/// A JSON value from the daemon, wiped when its last copy goes.
///
/// Its members are read out one by one, so that no secret is copied that nobody asks for.
public struct Answer: Sendable {
    private let bytes: SecretBytes

    init(_ value: JSONValue?) {
        guard let value else {
            bytes = SecretBytes("null")
            return
        }
        bytes = SecretBytes(copying: value.rawToken)
    }

    /// A text that is no secret; nil where there is none.
    ///
    /// A dot descends into an object.
    public func text(_ path: String) -> String? { read(path) { $0.kind == .string ? $0.string : nil } }

    /// A whole number; nil where there is none.
    public func integer(_ path: String) -> Int64? { read(path) { $0.integer } }

    /// True or false; nil where there is neither.
    public func flag(_ path: String) -> Bool? { read(path) { $0.bool } }

    /// A text that is a secret; nil where there is none.
    public func secret(_ path: String) -> Secret? {
        read(path) { $0.kind == .string ? $0.secret.map { Secret($0) } : nil }
    }

    /// An object or a list within; nil where there is none.
    public func answer(_ path: String) -> Answer? { read(path) { Answer($0) } }

    /// The elements of a list; none where it is something else.
    public var elements: [Answer] {
        withValue { value in
            guard value.kind == .array else { return [] }
            var found: [Answer] = []
            var cursor = value.elements()
            while let element = cursor.next() { found.append(Answer(element)) }
            return found
        } ?? []
    }

    /// The whole as JSON text, with every secret that is in it.
    public var json: String {
        bytes.withSpan { $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    }

    private func read<Value>(_ path: String, _ body: (JSONValue) -> Value?) -> Value? {
        withValue { root -> Value? in
            var value = root
            for name in path.split(separator: ".") {
                guard value.kind == .object, let member = value.member(named: String(name)) else {
                    return nil
                }
                value = member
            }
            return value.isNull ? nil : body(value)
        } ?? nil
    }

    private func withValue<Value>(_ body: (JSONValue) -> Value) -> Value? {
        bytes.withSpan { span in
            var document = JSONDocument(limits: JSONLimits(length: Wire.longestFrame, depth: 64))
            // It was parsed when it came.
            guard let root = try? document.parse(span) else { return nil }
            return body(root)
        }
    }
}
