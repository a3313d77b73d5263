/// Who must act on a record, most urgent first; the numbers are syslog's (RFC 5424 §6.2.1).
package enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    /// Our bug.
    case fault = 2
    /// An operator must act.
    case error = 3
    /// Will need action.
    case warning = 4
    /// A state changed: refreshed, denied, started.
    case notice = 5
    /// For diagnosis.
    case info = 6
    case debug = 7

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// The keys that a record may have, so that they can be searched for.
package enum LogField: String, Sendable, CaseIterable {
    case account, generation, uid, pid, role, method, kind, status, origin, state, path, line, code, count,
        version
    case seconds, reason, source, from, to, grant, secret
}

/// A value that may be logged.
///
/// There is no case for a secret, and a text is private unless it is said to be public.
package enum LogValue: Sendable {
    case integer(Int64)
    /// A text from our own constants, or one whose alphabet was checked, such as an account's name.
    case `public`(String)
    /// Anything else: only its length is written.
    case `private`(String)
}

/// One thing that happened: a constant sentence and facts.
package struct LogRecord: Sendable {
    /// Who must act on it.
    package let level: LogLevel
    /// Capitalised, no period at the end.
    package let message: String
    /// Facts, in the order in which they are written.
    package let fields: [(LogField, LogValue)]
    /// Names the kind of event in the journal (128 bits, hexadecimal); see systemd.journal-fields(7).
    package let messageID: String?

    /// A record; `fields` keep their order.
    package init(level: LogLevel, message: String, fields: [(LogField, LogValue)], messageID: String?) {
        self.level = level
        self.message = message
        self.fields = fields
        self.messageID = messageID
    }

    /// The record as one printable line: `message key=value …`, everything outside printable ASCII escaped.
    package var line: String {
        var line = message
        for (field, value) in fields {
            line += " " + field.rawValue + "=" + LogRecord.text(value)
        }
        return line
    }

    /// A value as it may leave the process.
    package static func text(_ value: LogValue) -> String {
        switch value {
        case .integer(let number): String(number)
        case .public(let text): escaped(text)
        case .private(let text): "<\(text.utf8.count) bytes>"
        }
    }

    // One event is one line, and no terminal may be steered by one.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.value >= 0x20, scalar.value < 0x7F, scalar != "\\" {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
        return result
    }
}

/// Where records go: the journal, standard error, a test.
package protocol LogSink: Sendable {
    func write(_ record: LogRecord)
}

/// What a part of the program logs with.
package struct Logger: Sendable {
    private let sink: any LogSink
    private let threshold: @Sendable () -> LogLevel

    /// A logger that drops what is less urgent than `threshold`, which is asked for each record.
    package init(sink: any LogSink, threshold: @escaping @Sendable () -> LogLevel = { .notice }) {
        self.sink = sink
        self.threshold = threshold
    }

    /// Writes one record: a constant sentence, the kind of event where it has one, and facts.
    package func log(
        _ level: LogLevel, _ message: StaticString, id: StaticString? = nil, _ fields: (LogField, LogValue)...
    ) {
        guard level <= threshold() else { return }
        sink.write(
            LogRecord(level: level, message: "\(message)", fields: fields, messageID: id.map { "\($0)" }))
    }
}
