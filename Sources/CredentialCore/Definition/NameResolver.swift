/// Turns the names of rules into the numbers that the kernel reports.
package protocol NameResolver {
    /// The uid of a user; nil when there is no such user.
    func uid(of user: String) throws(NameResolutionFailure) -> UInt32?
    /// The gid of a group; nil when there is no such group.
    func gid(of group: String) throws(NameResolutionFailure) -> UInt32?
}

/// The name service failed: nobody knows whether the name exists, which is not the same as that it does not.
package struct NameResolutionFailure: Error, Equatable, Sendable {
    /// An errno.
    package let code: Int32

    /// A failure with the errno of the name service.
    package init(code: Int32) { self.code = code }
}
