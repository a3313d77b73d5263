package import CredentialCore
package import Log

/// What the daemon itself is told: everything in the main file that is not an account.
package struct DaemonSettings: Equatable, Sendable {
    /// Who is admin beside uid 0; of a system instance only.
    package var admins: [AccessRule] = []
    /// What is logged: this level and all that are more urgent.
    package var logLevel = LogLevel.notice
    /// How much others may use.
    package var limits: Limits
    /// How much of the audit log is kept.
    package var audit = AuditSettings()
    /// An absolute path to the program that fetches, where this instance starts it itself; nil: the installed one.
    package var fetchWorker: String?

    /// The size of the audit log.
    package struct AuditSettings: Equatable, Sendable {
        /// Bytes of one segment; that much is reserved ahead.
        package var segmentBytes = 1 << 20
        /// How many segments are kept, the current one included.
        package var segments = 16
    }

    /// What holds without a file.
    package init(limits: Limits) { self.limits = limits }

    enum Level: String, CaseIterable {
        case error, warning, notice, info, debug

        var level: LogLevel {
            switch self {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
        }
    }

    /// The level with that name in the configuration; nil: there is none.
    package static func logLevel(named name: String) -> LogLevel? { Level(rawValue: name)?.level }

    mutating func read(_ root: inout DefinitionTable, _ reader: AccountReader) {
        if var daemon = root.table("daemon") {
            if let entry = daemon.entry("admin") { admins = reader.ruleList(entry, daemon) }
            if let level = daemon.choice("log_level", Level.self) { logLevel = level.level }
            daemon.finish()
        }
        if let table = root.table("limits") { limits.read(table) }
        if var table = root.table("audit") {
            if let bytes = table.integer("segment_bytes", in: 65_536...(1 << 30)) {
                audit.segmentBytes = Int(clamping: bytes)
            }
            if let count = table.integer("segments", in: 2...10_000) { audit.segments = Int(clamping: count) }
            table.finish()
        }
        if var table = root.table("fetch") {
            if let entry = table.entry("worker"), let path = table.string(entry) {
                if path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) {
                    fetchWorker = path
                } else {
                    table.fault(entry, .relativePath)
                }
            }
            table.finish()
        }
    }
}
