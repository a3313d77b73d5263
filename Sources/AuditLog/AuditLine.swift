import CredentialCore
import Secrets

/// The text of one line: a JSON object with the same keys in the same order in every line, all of it printable ASCII.
enum AuditLine {
    /// Appends the line of `entry` to `text` and moves `chain` on.
    static func append(
        _ entry: AuditEntry, to text: inout [UInt8], _ chain: inout AuditChain, key: SecretBytes
    ) {
        let (decision, count) = entry.decision.word
        append(to: &text, &chain, key: key, time: entry.time) { text in
            member("pid", Int64(entry.pid), &text)
            member("uid", Int64(entry.uid), &text)
            member("unit", entry.unit?.text, &text)
            // A connection number beyond Int64 would take centuries.
            member("connection", Int64(clamping: entry.connection), &text)
            member("method", entry.method, &text)
            member("account", entry.account?.text, &text)
            member("generation", entry.generation?.number, &text)
            member("decision", decision, &text)
            member("count", count, &text)
            member("reason", entry.reason, &text)
        }
    }

    /// Appends the line that begins a segment: `previous` is the value that the line before it had, wherever that is.
    static func appendSegmentStart(
        _ segment: Int64, reason: SegmentReason, time: WallTime, to text: inout [UInt8],
        _ chain: inout AuditChain, key: SecretBytes
    ) {
        let previous = String(decoding: AuditChain.hex(chain.value), as: UTF8.self)
        append(to: &text, &chain, key: key, time: time) { text in
            member("segment", segment, &text)
            member("reason", reason.rawValue, &text)
            member("previous", previous, &text)
        }
    }

    /// Appends the line that says how many entries could not be written.
    static func appendLoss(
        _ count: Int64, time: WallTime, to text: inout [UInt8], _ chain: inout AuditChain, key: SecretBytes
    ) {
        append(to: &text, &chain, key: key, time: time) { text in
            member("decision", "entries_lost", &text)
            member("count", count, &text)
        }
    }

    private static func append(
        to text: inout [UInt8], _ chain: inout AuditChain, key: SecretBytes, time: WallTime,
        _ members: (inout [UInt8]) -> Void
    ) {
        let start = text.count
        chain.sequence += 1
        text += "{\"seq\":\(chain.sequence)".utf8
        member("time", RFC3339.text(time), &text)
        member("time_ms", time.milliseconds, &text)
        members(&text)
        chain.value = chain.value(after: text[start...], purpose: AuditChain.line, key: key)
        text += AuditChain.separator
        text += AuditChain.hex(chain.value)
        text += AuditChain.ending
        text.append(UInt8(ascii: "\n"))
    }

    private static func member(_ name: StaticString, _ value: Int64?, _ text: inout [UInt8]) {
        text += ",\"\(name)\":".utf8
        text += (value.map(String.init) ?? "null").utf8
    }

    private static func member(_ name: StaticString, _ value: String?, _ text: inout [UInt8]) {
        text += ",\"\(name)\":".utf8
        guard let value else {
            text += "null".utf8
            return
        }
        text.append(UInt8(ascii: "\""))
        // Everything but printable ASCII becomes \uXXXX, so that no reader's terminal or editor is steered by a line.
        for unit in value.utf16.prefix(256) {
            if (0x20...0x7E).contains(unit), unit != 0x22, unit != 0x5C {
                text.append(UInt8(truncatingIfNeeded: unit))
            } else {
                let digits = String(unit, radix: 16)
                text += ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

/// Why a segment was begun.
enum SegmentReason: String {
    /// There was no log.
    case first
    /// The one before was full.
    case rotated
    /// The one before ends within a line: the machine or the daemon stopped while it was written.
    case tornLine = "torn_line"
    /// The one before has a line that does not fit.
    case damaged
    /// The log ends earlier than its head says.
    case truncated
    /// The one before could not be written or synced any more.
    case failed
}
