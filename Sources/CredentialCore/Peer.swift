/// The process at the other end of a socket: what the kernel recorded when it connected, and nothing else.
package struct Peer: Equatable, Sendable {
    /// The process when it connected; it may have ended since.
    package let pid: Int32
    /// Its effective user.
    package let uid: UInt32
    /// Its effective group.
    package let gid: UInt32
    /// Supplementary groups.
    package let groups: [UInt32]

    /// Takes what the kernel reported.
    package init(pid: Int32, uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// Whether `group` is its group or one of its supplementary ones.
    package func isMember(of group: UInt32) -> Bool { gid == group || groups.contains(group) }
}
