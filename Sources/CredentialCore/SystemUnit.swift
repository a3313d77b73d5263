/// The name of a systemd unit in which processes run: a service or a scope (systemd.unit(5)).
package struct SystemUnit: Hashable, Sendable, CustomStringConvertible {
    /// The name, as in `systemctl status NAME`.
    package let text: String

    /// Nil when `text` is no name of a service or scope.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), !text.hasPrefix("."),
            [".service", ".scope"].contains(where: { text.hasSuffix($0) && text.utf8.count > $0.utf8.count }),
            text.utf8.allSatisfy(Self.isAllowed)
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "\\"), UInt8(ascii: "@"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The unit of the system's own manager that a process runs in, by what `/proc/PID/cgroup` says; nil: not known.
    ///
    /// The whole path counts, from the root: slices first, then the unit. What a unit does below itself is its own affair, a user's
    /// manager above all: its `kiosk.service` is below `user@1000.service`, and that is what it counts as.
    package static func inCgroups(_ text: String) -> SystemUnit? {
        var path: Substring?
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2].hasPrefix("/"),
                fields[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            // The one hierarchy of version 2, or systemd's own of version 1 beside it.
            if fields[0] == "0", fields[1].isEmpty, fields[2] != "/" || path == nil { path = fields[2] }
            if fields[1] == "name=systemd" { path = fields[2] }
        }
        guard let path else { return nil }
        for part in path.split(separator: "/", omittingEmptySubsequences: true) {
            // A path that leads out of what this process can see.
            guard part != "..", part != "." else { return nil }
            if part.hasSuffix(".slice") { continue }
            // Names that the kernel keeps for itself have an underscore before them.
            return SystemUnit(String(part.hasPrefix("_") ? part.dropFirst() : part))
        }
        return nil
    }
}

/// What is known of the unit that a peer runs in.
package enum PeerUnit: Equatable, Sendable {
    case known(SystemUnit)
    /// The process lives, and nothing says which unit it is in.
    case unknown
    /// The process that connected has ended: whoever talks now has the connection from it.
    case gone
}
