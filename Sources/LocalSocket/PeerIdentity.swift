import CLinux
import CredentialCore

/// The numbers that stand for everybody who has none in this process' user namespace; nil: everybody has one.
package struct HiddenIdentity: Sendable {
    /// The user that they show as.
    package let uid: UInt32?
    /// The group that they show as.
    package let gid: UInt32?

    /// Takes both.
    package init(uid: UInt32?, gid: UInt32?) {
        self.uid = uid
        self.gid = gid
    }

    /// Nobody is hidden.
    package static let nobody = HiddenIdentity(uid: nil, gid: nil)
}

/// Asks the kernel who connected.
enum PeerIdentity {
    // The kernel's own limit.
    private static let mostGroups = 65_536

    /// What SO_PEERCRED and SO_PEERGROUPS say; nil when the kernel does not, which means: deny.
    static func read(_ descriptor: Int32, _ hidden: HiddenIdentity) -> Peer? {
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        guard cl_peer_credentials(descriptor, &pid, &uid, &gid) == 0 else { return nil }
        // It may be anybody who has no number here.
        guard uid != hidden.uid, gid != hidden.gid else { return nil }
        // 32 groups are enough for nearly everybody; who has more is asked for again with more room.
        for capacity in [32, 1024, mostGroups] {
            var isKnown = false
            let groups = [UInt32](unsafeUninitializedCapacity: capacity) { buffer, count in
                let found = Int(cl_peer_groups(descriptor, buffer.baseAddress, capacity))
                isKnown = found >= 0
                count = max(0, found)
            }
            if isKnown {
                return Peer(pid: pid, uid: uid, gid: gid, groups: groups.filter { $0 != hidden.gid })
            }
        }
        return nil
    }
}
