import CredentialCore
import Secrets

/// Reads segments back, line by line, as far as they fit together.
struct AuditReader {
    let key: SecretBytes

    /// What is wrong with a line.
    enum Fault: String, Equatable, Sendable {
        /// Not a line of ours.
        case malformed
        /// Does not follow the line before: something was changed, left out or put in.
        case chain
        /// The number does not follow that of the line before.
        case sequence
        /// The text ends within the line.
        case torn
    }

    /// A segment as far as it is good.
    struct Segment: Equatable {
        /// The chain at its last good line; nil when its first line is not good.
        var last: AuditChain?
        /// Good lines.
        var lines = 0
        /// What the line behind them is; nil: there is none.
        var fault: Fault?
        /// Why it was begun, and which segment it says that it is; both hashed, so true when the first line is good.
        var reason: String?
        var number: Int64?
    }

    /// Reads a segment whose first line follows `previous`; nil: the line before is not there any more, and what the segment says
    /// of it is taken (it is hashed with the key as all else).
    func read(_ bytes: [UInt8], after previous: AuditChain?) -> Segment {
        var result = Segment()
        var chain = previous
        var start = 0
        while start < bytes.count {
            guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else {
                result.fault = .torn
                break
            }
            let line = bytes[start..<end]
            if start == 0, let header = header(line) {
                result.reason = header.reason
                result.number = header.number
                if chain == nil { chain = header.previous }
            }
            guard let before = chain, let sequence = Self.sequence(line),
                line.count > AuditChain.tailLength
            else {
                result.fault = .malformed
                break
            }
            let text = line.dropLast(AuditChain.tailLength)
            let value = before.value(after: text, purpose: AuditChain.line, key: key)
            let tail = AuditChain.separator + AuditChain.hex(value) + AuditChain.ending
            guard line.suffix(AuditChain.tailLength).elementsEqual(tail) else {
                result.fault = .chain
                break
            }
            guard sequence == before.sequence + 1 else {
                result.fault = .sequence
                break
            }
            let now = AuditChain(sequence: sequence, value: value)
            chain = now
            result.last = now
            result.lines += 1
            start = end + 1
        }
        return result
    }

    private func header(_ line: ArraySlice<UInt8>) -> (reason: String, number: Int64?, previous: AuditChain)?
    {
        guard let sequence = Self.sequence(line), sequence > 0,
            let reason = Self.text("reason", in: line), let hex = Self.text("previous", in: line),
            let value = Self.bytes(hex)
        else { return nil }
        let number = Self.find(",\"segment\":", in: line).flatMap { Int64(digits(line[$0...])) }
        return (reason, number, AuditChain(sequence: sequence - 1, value: value))
    }

    /// The number at the beginning of a line.
    private static func sequence(_ line: ArraySlice<UInt8>) -> Int64? {
        let prefix = Array("{\"seq\":".utf8)
        guard line.starts(with: prefix) else { return nil }
        let digits = line.dropFirst(prefix.count).prefix { $0 != UInt8(ascii: ",") }
        guard digits.count <= 19 else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private func digits(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 &- 48 < 10 }.prefix(19), as: UTF8.self)
    }

    // Our own lines only: what is found is checked by the hash before it counts.
    private static func text(_ name: String, in line: ArraySlice<UInt8>) -> String? {
        find(",\"\(name)\":\"", in: line).map { start in
            String(decoding: line[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        }
    }

    // Where `mark` ends.
    private static func find(_ mark: String, in line: ArraySlice<UInt8>) -> Int? {
        let wanted = Array(mark.utf8)
        guard line.count >= wanted.count else { return nil }
        for start in line.startIndex...(line.endIndex - wanted.count)
        where line[start..<(start + wanted.count)].elementsEqual(wanted) {
            return start + wanted.count
        }
        return nil
    }

    static func bytes(_ hex: String) -> [UInt8]? {
        guard hex.utf8.count == AuditChain.valueLength * 2 else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(hex)
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
