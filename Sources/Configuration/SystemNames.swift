package import CredentialCore
import Glibc

/// The users and groups of this machine, as its name service knows them.
///
/// Not for a static program: glibc loads the name service when it is asked.
package struct SystemNames: NameResolver {
    /// Asks the name service anew each time.
    package init() {}

    /// Looks a user up (getpwnam_r(3)).
    package func uid(of user: String) throws(NameResolutionFailure) -> UInt32? {
        try lookUp { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(user, &entry, buffer, size, &found)
            return (code, found == nil ? nil : entry.pw_uid)
        }
    }

    /// Looks a group up (getgrnam_r(3)).
    package func gid(of group: String) throws(NameResolutionFailure) -> UInt32? {
        try lookUp { buffer, size in
            var entry = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = getgrnam_r(group, &entry, buffer, size, &found)
            return (code, found == nil ? nil : entry.gr_gid)
        }
    }

    // A group of thousands of members needs room for all their names.
    private func lookUp(
        _ ask: (UnsafeMutablePointer<CChar>, Int) -> (code: Int32, number: UInt32?)
    ) throws(NameResolutionFailure) -> UInt32? {
        var size = 4096
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let answer = ask(buffer, size)
            switch answer.code {
            case 0: return answer.number
            // Some name services say "not found" like this (getpwnam(3)).
            case ENOENT, ESRCH: return nil
            case ERANGE where size < 1 << 20: size *= 4
            case EINTR: continue
            default: throw NameResolutionFailure(code: answer.code)
            }
        }
    }
}
