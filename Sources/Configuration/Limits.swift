import CredentialCore

/// The table `[limits]`.
extension Limits {
    // The least values still let one client do its work; the greatest bound what a daemon may need.
    mutating func read(_ table: DefinitionTable) {
        var table = table
        set(&frameBytes, &table, "frame_bytes", 65_536...(16 << 20))
        set(&uidBufferBytes, &table, "uid_buffer_bytes", 65_536...(1 << 30))
        set(&unreadBytes, &table, "unread_bytes", 4096...(64 << 20))
        set(&connectionsPerUID, &table, "connections_per_uid", 1...65_536)
        set(&connectionsPerSystemUID, &table, "connections_per_system_uid", 1...65_536)
        set(&pendingPerUID, &table, "pending_per_uid", 1...1_048_576)
        set(&connectionsShared, &table, "connections_shared", 0...65_536)
        set(&connectionsTotal, &table, "connections_total", 1...65_536)
        set(&spareDescriptors, &table, "spare_descriptors", 16...4096)
        if let time = table.seconds("frame_seconds", in: 1...300) { frameTime = time }
        table.finish()
        // A budget that no frame fits into would close every connection.
        if uidBufferBytes < frameBytes,
            let entry = table.entry("uid_buffer_bytes") ?? table.entry("frame_bytes")
        {
            table.fault(entry, .outOfRange(from: Int64(frameBytes), to: 1 << 30))
        }
    }

    private func set(
        _ limit: inout Int, _ table: inout DefinitionTable, _ key: String, _ range: ClosedRange<Int64>
    ) {
        if let value = table.integer(key, in: range) { limit = Int(clamping: value) }
    }
}
