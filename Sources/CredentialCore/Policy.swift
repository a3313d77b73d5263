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

    /// Nil when neither a user nor a group is given: the uid that the kernel reports is the boundary.
    ///
    /// Nil, too, when a name has no number: a key that nobody can match must not be left out of the rule.
    package init?(user: String? = nil, uid: UInt32? = nil, group: String? = nil, gid: UInt32? = nil) {
        guard uid != nil || gid != nil, user == nil || uid != nil, group == nil || gid != nil else {
            return nil
        }
        self.user = user
        self.uid = uid
        self.group = group
        self.gid = gid
    }

    /// Whether every key of the rule holds for `peer`.
    package func admits(_ peer: Peer) -> Bool {
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
}

/// Whose machine this is: decides who is admin and whether rules are asked at all.
package enum InstanceKind: Equatable, Sendable {
    /// For everybody on the machine: nobody may do anything unless a rule says so; admin only on the admin socket.
    case system(admins: [AccessRule])
    /// One user's own: this uid may do everything, nobody else anything.
    case user(uid: UInt32)
}

/// Decides who may do what.
///
/// A verdict, not an error: whoever asks says what a denial looks like.
package struct Policy: Sendable {
    /// Whose machine this is.
    package let instance: InstanceKind

    /// Decides for that instance.
    package init(instance: InstanceKind) { self.instance = instance }

    /// The highest role that `peer` has for an account with `rules`; nil: none, and it may not know that the account is there.
    package func role(of peer: Peer, isAdminSocket: Bool, rules: AccessRules) -> Role? {
        switch instance {
        case .user(let uid):
            return peer.uid == uid ? .admin : nil
        case .system:
            if isAdmin(peer, isAdminSocket: isAdminSocket) { return .admin }
            if rules.operate.contains(where: { $0.admits(peer) }) { return .operate }
            if rules.use.contains(where: { $0.admits(peer) }) { return .use }
            return nil
        }
    }

    /// Whether `peer` may do what concerns the whole daemon.
    package func isAdmin(_ peer: Peer, isAdminSocket: Bool) -> Bool {
        switch instance {
        case .user(let uid): peer.uid == uid
        case .system(let admins):
            isAdminSocket && (peer.uid == 0 || admins.contains { $0.admits(peer) })
        }
    }
}
