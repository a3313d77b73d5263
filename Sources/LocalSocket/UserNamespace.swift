import CLinux
import CredentialCore
import Glibc

/// The user namespace that this process runs in, which decides what the numbers of peers are worth.
package struct UserNamespace {
    private let users: IdentityMap
    private let groups: IdentityMap

    /// Nil when the kernel does not say, as without /proc.
    package static func current() -> UserNamespace? {
        guard let users = map("/proc/self/uid_map"), let groups = map("/proc/self/gid_map") else {
            return nil
        }
        return UserNamespace(users: users, groups: groups)
    }

    /// Why nobody can be served here; nil: everybody who matters can be told apart.
    package static func objection(isSystem: Bool, uid: UInt32) -> String? {
        guard let namespace = current() else {
            return isSystem ? "/proc/self/uid_map cannot be read, so nobody knows who connects" : nil
        }
        if isSystem {
            guard !namespace.users.hasMachine || !namespace.groups.hasMachine else { return nil }
            return "this user namespace hides who connects: users without a number in it show as one; "
                + "run it without PrivateUsers= and outside of unshare --user"
        }
        let isSomebody =
            namespace.users.covers(uid...uid) && (namespace.users.isWhole || uid != overflow("uid"))
        return isSomebody
            ? nil : "this user has no number in this user namespace, so everybody would show as this user"
    }

    /// The numbers behind which peers hide: who shows as one of them is not served.
    package static func hidden() -> HiddenIdentity {
        guard let namespace = current() else { return .nobody }
        return HiddenIdentity(
            uid: namespace.users.isWhole ? nil : overflow("uid"),
            gid: namespace.groups.isWhole ? nil : overflow("gid"))
    }

    private static func map(_ path: String) -> IdentityMap? {
        // A kernel without user namespaces has no such file.
        if access(path, F_OK) != 0 { return access("/proc/self/stat", F_OK) == 0 ? .whole : nil }
        return read(path).flatMap { IdentityMap($0) }
    }

    private static func overflow(_ kind: String) -> UInt32 {
        read("/proc/sys/kernel/overflow" + kind).flatMap { UInt32($0.filter { !$0.isWhitespace }) } ?? 65_534
    }

    private static func read(_ path: String) -> String? {
        let descriptor = cl_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 65_536 {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? String(validating: bytes, as: UTF8.self) : nil }
            bytes += chunk[..<count]
        }
        return nil
    }
}
