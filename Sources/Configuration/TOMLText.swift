import CToml
import CredentialCore

/// TOML 1.0, read by toml++.
///
/// The C face owns every byte that it shows; all of them are copied before it is freed, and its error texts, which quote what was
/// written, stay there.
enum TOMLText {
    struct Failure: Error, Equatable {
        let kind: ConfigurationProblem.Syntax
        /// Nil where it is not known.
        let position: TextPosition?
    }

    static func parse(_ bytes: [UInt8]) throws(Failure) -> DefinitionNode {
        let document = bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { ct_parse($0.baseAddress, $0.count) }
        }
        defer { ct_free(document) }
        var line: UInt32 = 0
        var column: UInt32 = 0
        let code = ct_document_error(document, &line, &column)
        guard code == Int32(CT_OK.rawValue) else {
            throw Failure(kind: kind(code), position: position(line, column))
        }
        var count = 0
        let nodes = UnsafeBufferPointer(start: ct_document_nodes(document, &count), count: count)
        return node(nodes, 0)
    }

    private static func kind(_ code: Int32) -> ConfigurationProblem.Syntax {
        switch UInt32(bitPattern: code) {
        case CT_UNEXPECTED_END.rawValue: .unexpectedEnd
        case CT_DUPLICATE.rawValue: .duplicateKey
        case CT_TOO_DEEP.rawValue: .tooDeep
        case CT_ENCODING.rawValue: .notUTF8
        case CT_KEY_EXPECTED.rawValue: .malformed(.keyExpected)
        case CT_EQUALS_EXPECTED.rawValue: .malformed(.equalsExpected)
        case CT_VALUE_EXPECTED.rawValue: .malformed(.valueExpected)
        case CT_LINE_END_EXPECTED.rawValue: .malformed(.lineEndExpected)
        case CT_ARRAY_CONTINUATION.rawValue: .malformed(.arrayContinuation)
        case CT_TABLE_CONTINUATION.rawValue: .malformed(.tableContinuation)
        case CT_HEADER_END_EXPECTED.rawValue: .malformed(.headerEndExpected)
        case CT_ESCAPE.rawValue: .malformed(.escape)
        case CT_CONTROL_CHARACTER.rawValue: .malformed(.controlCharacter)
        case CT_NUMBER.rawValue: .malformed(.number)
        case CT_TIME.rawValue: .malformed(.time)
        default: .syntax
        }
    }

    private static func position(_ line: UInt32, _ column: UInt32) -> TextPosition? {
        line == 0 ? nil : TextPosition(line: Int(line), column: Int(column))
    }

    // The depth is bounded by the C face.
    private static func node(_ nodes: UnsafeBufferPointer<ct_node>, _ index: Int) -> DefinitionNode {
        let raw = nodes[index]
        let value: DefinitionNode.Value
        switch UInt32(bitPattern: raw.kind) {
        case CT_STRING.rawValue: value = .string(text(raw.text, raw.text_length))
        case CT_INTEGER.rawValue: value = .integer(raw.integer)
        case CT_REAL.rawValue: value = .real(raw.real)
        case CT_BOOLEAN.rawValue: value = .boolean(raw.boolean != 0)
        case CT_MOMENT.rawValue:
            value = RFC3339.parse(text(raw.text, raw.text_length)).map { .moment($0) } ?? .localTime
        case CT_ARRAY.rawValue:
            var elements: [DefinitionNode] = []
            forEachChild(nodes, index) { elements.append(node(nodes, $0)) }
            value = .array(elements)
        case CT_TABLE.rawValue:
            var members: [DefinitionNode.Member] = []
            forEachChild(nodes, index) { child in
                let raw = nodes[child]
                members.append(
                    DefinitionNode.Member(
                        key: text(raw.key, raw.key_length), position: position(raw.key_line, raw.key_column),
                        node: node(nodes, child)))
            }
            // The order of the file, which toml++ does not keep, so that faults and headers come in it.
            members.sort { before($0.position, $1.position) }
            value = .table(members)
        default: value = .localTime
        }
        return DefinitionNode(value: value, position: position(raw.line, raw.column))
    }

    private static func forEachChild(
        _ nodes: UnsafeBufferPointer<ct_node>, _ index: Int, _ body: (Int) -> Void
    ) {
        var child = index + 1
        while child < nodes[index].end {
            body(child)
            child = nodes[child].end
        }
    }

    private static func before(_ left: TextPosition?, _ right: TextPosition?) -> Bool {
        guard let left, let right else { return false }
        return (left.line, left.column) < (right.line, right.column)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?, _ length: Int) -> String {
        UnsafeRawBufferPointer(start: pointer, count: length).withMemoryRebound(to: UInt8.self) {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
