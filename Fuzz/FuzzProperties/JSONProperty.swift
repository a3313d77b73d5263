package import JSON
import Secrets

/// What holds for every text, whoever wrote it.
package enum JSONProperty {
    /// A way in which a text showed the reader or the writer to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case rewrittenIsRefused(JSONFailure)
        case rewritingIsNotStable
        case verdictChanges
        case offsetOutside
    }

    /// Reads `text`; if it is JSON, writes it anew, reads that, and writes it once more: both must be the same.
    package static func check(_ text: Span<UInt8>) throws(Violation) {
        var document = JSONDocument()
        let first: [UInt8]
        do throws(JSONFailure) {
            first = rewritten(try document.parse(text))
        } catch {
            guard isInside(error, count: text.count) else { throw .offsetOutside }
            var other = JSONDocument()
            guard failure(of: text, &other) == error, failure(of: text, &document) == error else {
                throw .verdictChanges
            }
            return
        }
        let second: [UInt8]
        // A text may grow as it is rewritten: every byte of a string by six at most.
        var larger = JSONDocument(limits: JSONLimits(length: 6 << 20))
        do throws(JSONFailure) {
            second = rewritten(try larger.parse(first.span))
        } catch {
            throw .rewrittenIsRefused(error)
        }
        guard first == second else { throw .rewritingIsNotStable }
    }

    /// `value` as the writer writes it; numbers stay as they are written.
    package static func rewritten(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        write(value, to: &writer)
        let buffer = writer.finish()
        return buffer.withSpan { span in span.withUnsafeBufferPointer(Array.init) }
    }

    private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
        switch value.kind {
        case .null: writer.null()
        case .true, .false: writer.bool(value.bool ?? false)
        case .number: writer.raw(value.raw)
        case .string:
            if let secret = value.secret { writer.string(secret) }
        case .array:
            writer.beginArray()
            var elements = value.elements()
            while let element = elements.next() { write(element, to: &writer) }
            writer.endArray()
        case .object:
            writer.beginObject()
            var members = value.members()
            while let member = members.next() {
                writer.key(named: member.key.string ?? "")
                write(member.value, to: &writer)
            }
            writer.endObject()
        }
    }

    private static func failure(of text: Span<UInt8>, _ document: inout JSONDocument) -> JSONFailure? {
        do throws(JSONFailure) {
            _ = try document.parse(text)
            return nil
        } catch {
            return error
        }
    }

    private static func isInside(_ failure: JSONFailure, count: Int) -> Bool {
        switch failure {
        case .unexpectedEnd, .tooLong: true
        case .unexpectedByte(let offset), .invalidUTF8(let offset), .invalidEscape(let offset),
            .invalidNumber(let offset), .duplicateKey(let offset), .trailingBytes(let offset),
            .tooDeep(let offset):
            offset >= 0 && offset < count
        }
    }
}
