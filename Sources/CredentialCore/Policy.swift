/// What a peer may do with an account; each role includes the ones before it.
package enum Role: Int, Comparable, Sendable {
    /// Ask for tokens and look.
    case use
    /// Replace credentials, start and stop.
    case operate
    /// Everything, accounts and store included.
    case admin

    package static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }
}

/// One rule: every key that it has must hold.
package struct AccessRule: Equatable, Sendable {
    /// The names as they were written, for people; the numbers that they had when the configuration was read decide.
    package let user: String?
    /// The user who must be there; nil: any.
    package let uid: UInt32?
    /// The name of the group, for people.
    package let group: String?
    /// The group that the peer must be in; nil: any.
    package let gid: UInt32?
    /// The unit that the peer must run in, which only narrows; nil: any.
    package let unit: SystemUnit?

    /// Nil when neither a user nor a group is given: the uid that the kernel reports is the boundary.
    ///
    /// Nil, too, when a name has no number: a key that nobody can match must not be left out of the rule.
    package init?(
        user: String? = nil, uid: UInt32? = nil, group: String? = nil, gid: UInt32? = nil,
        unit: SystemUnit? = nil
    ) {
        guard uid != nil || gid != nil, user == nil || uid != nil, group == nil || gid != nil else {
            return nil
        }
        self.user = user
        self.uid = uid
        self.group = group
        self.gid = gid
        self.unit = unit
    }

    /// Whether every key of the rule holds for `peer`; `unit` is asked for only where the rest does.
    package func admits(_ peer: Peer, unit: () -> PeerUnit) -> Bool {
        guard admitsIdentity(peer) else { return false }
        guard let wanted = self.unit else { return true }
        return unit() == .known(wanted)
    }

    /// Whether user and group hold for `peer`, whatever unit it is in.
    package func admitsIdentity(_ peer: Peer) -> Bool {
        if let uid, peer.uid != uid { return false }
        if let gid, !peer.isMember(of: gid) { return false }
        return uid != nil || gid != nil
    }
}

/// Who may use and who may operate one account.
///
/// One rule of a list is enough; without rules, nobody.
package struct AccessRules: Equatable, Sendable {
    /// Who may ask for tokens and look.
    package let use: [AccessRule]
    /// Who may also replace, start and stop.
    package let operate: [AccessRule]

    /// Takes both lists.
    package init(use: [AccessRule] = [], operate: [AccessRule] = []) {
        self.use = use
        self.operate = operate
    }

    /// No rule at all.
    package static let nobody = AccessRules()

    /// Whether some rule names a unit.
    package var namesUnits: Bool { (use + operate).contains { $0.unit != nil } }
}

/// Whose machine this is: decides who is admin and whether rules are asked at all.
package enum InstanceKind: Equatable, Sendable {
    /// For everybody on the machine: nobody may do anything unless a rule says so; admin only on the admin socket.
    case system(admins: [AccessRule])
    /// One user's own: this uid may do everything, nobody else anything.
    case user(uid: UInt32)

    /// Whether everything in it is one user's.
    package var isUser: Bool {
        if case .user = self { true } else { false }
    }
}

/// Decides who may do what.
///
/// A verdict, not an error: whoever asks says what a denial looks like.
package struct Policy: Sendable {
    /// Whose machine this is.
    package let instance: InstanceKind

    /// Decides for that instance.
    package init(instance: InstanceKind) { self.instance = instance }

    /// What a peer may do, and whether it may only because of the unit that it runs in: then it may only while that process lives.
    package struct Verdict: Equatable, Sendable {
        /// The highest role; nil: none, and it may not know that the account is there.
        package let role: Role?
        /// Whether a rule that names a unit decided it.
        package let restsOnUnit: Bool

        /// Takes both.
        package init(role: Role?, restsOnUnit: Bool) {
            self.role = role
            self.restsOnUnit = restsOnUnit
        }
    }

    /// The highest role that `peer` has for an account with `rules`.
    ///
    /// `unit` is asked for only where nothing but a rule that names one would admit the peer.
    package func verdict(
        on peer: Peer, isAdminSocket: Bool, rules: AccessRules, unit: () -> PeerUnit
    ) -> Verdict {
        switch instance {
        case .user(let uid):
            return Verdict(role: peer.uid == uid ? .admin : nil, restsOnUnit: false)
        case .system:
            let admin = adminVerdict(peer, isAdminSocket: isAdminSocket, unit)
            if admin.isAdmitted { return Verdict(role: .admin, restsOnUnit: admin.restsOnUnit) }
            for (role, list) in [(Role.operate, rules.operate), (.use, rules.use)] {
                let found = Self.search(list, peer, unit)
                if found.isAdmitted { return Verdict(role: role, restsOnUnit: found.restsOnUnit) }
            }
            return Verdict(role: nil, restsOnUnit: false)
        }
    }

    /// Whether `peer` may do what concerns the whole daemon.
    package func isAdmin(_ peer: Peer, isAdminSocket: Bool, unit: () -> PeerUnit) -> Bool {
        switch instance {
        case .user(let uid): peer.uid == uid
        case .system: adminVerdict(peer, isAdminSocket: isAdminSocket, unit).isAdmitted
        }
    }

    /// Whether a rule for administrators names `peer`, whatever unit it is in: who is named has a share of the connections.
    package func namesAdmin(_ peer: Peer, isAdminSocket: Bool) -> Bool {
        switch instance {
        case .user(let uid): peer.uid == uid
        case .system(let admins):
            isAdminSocket && (peer.uid == 0 || admins.contains { $0.admitsIdentity(peer) })
        }
    }

    private func adminVerdict(
        _ peer: Peer, isAdminSocket: Bool, _ unit: () -> PeerUnit
    ) -> (isAdmitted: Bool, restsOnUnit: Bool) {
        guard case .system(let admins) = instance, isAdminSocket else { return (false, false) }
        return peer.uid == 0 ? (true, false) : Self.search(admins, peer, unit)
    }

    // Rules without a unit first: a permission that does not need the process to live is the better one.
    private static func search(
        _ rules: [AccessRule], _ peer: Peer, _ unit: () -> PeerUnit
    ) -> (isAdmitted: Bool, restsOnUnit: Bool) {
        if rules.contains(where: { $0.unit == nil && $0.admitsIdentity(peer) }) { return (true, false) }
        let isAdmitted = rules.contains { $0.unit != nil && $0.admits(peer, unit: unit) }
        return (isAdmitted, isAdmitted)
    }
}
