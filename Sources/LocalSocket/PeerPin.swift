import CLinux
package import CredentialCore
import Glibc

/// Holds on to the process that connected, so that its number cannot come to mean another one.
///
/// Difficulty: a process number says nothing by itself; the process may have ended and the number be another's by the time it is
/// looked at. Where the kernel has SO_PEERPIDFD (Linux 6.5), a descriptor stands for the very process that connected. Where it has not, the
/// process' directory does, taken when the connection is accepted: it dies with its process. Between the connect and the accept the
/// number may still have passed to another process of the same user, which is what remains on such a kernel.
package final class PeerPin {
    private enum Hold {
        case descriptor(Int32)
        /// A directory of /proc, which is empty once its process has ended.
        case directory(Int32)
    }

    private let hold: Hold
    private let pid: Int32
    private var unit: PeerUnit?

    /// Pins the peer of a connected socket; nil when it is gone already.
    package init?(_ socket: Int32, peer: Peer, usesDescriptor: Bool = true) {
        pid = peer.pid
        let descriptor = usesDescriptor ? cl_peer_pidfd(socket) : -1
        if descriptor >= 0 {
            hold = .descriptor(descriptor)
            return
        }
        // Anything else than "this kernel cannot" means that the peer is gone.
        guard !usesDescriptor || errno == ENOPROTOOPT, pid > 0 else { return nil }
        let directory = cl_open("/proc/\(pid)", O_RDONLY | O_DIRECTORY, 0)
        guard directory >= 0 else { return nil }
        // Whoever has the number now must at least be the user that connected, as the kernel recorded it.
        var status = stat()
        guard fstat(directory, &status) == 0, status.st_uid == peer.uid, Self.exists(directory) else {
            close(directory)
            return nil
        }
        hold = .directory(directory)
    }

    deinit {
        switch hold {
        case .descriptor(let number), .directory(let number): close(number)
        }
    }

    /// Whether the process that connected lives; one that has ended and was not waited for does not.
    package var isAlive: Bool {
        switch hold {
        case .descriptor(let descriptor): cl_is_readable(descriptor) == 0
        case .directory(let directory): Self.exists(directory)
        }
    }

    /// The unit of the process, which stays what it was found to be while the process lives.
    package func currentUnit() -> PeerUnit {
        if let unit { return isAlive ? unit : .gone }
        let text: String? =
            switch hold {
            case .descriptor: Self.read("/proc/\(pid)/cgroup")
            case .directory(let directory): Self.read(directory, "cgroup")
            }
        // Read under the pin: it was this process' file if this process still lives.
        guard isAlive else { return .gone }
        let found = text.flatMap(SystemUnit.inCgroups).map { PeerUnit.known($0) } ?? .unknown
        unit = found
        return found
    }

    private static func exists(_ directory: Int32) -> Bool {
        // State Z is a process that has ended.
        guard let stat = read(directory, "stat"), let end = stat.lastIndex(of: ")") else { return false }
        return !stat[end...].dropFirst().hasPrefix(" Z") && !stat[end...].dropFirst().hasPrefix(" X")
    }

    private static func read(_ path: String) -> String? {
        read(descriptor: cl_open(path, O_RDONLY | O_NOFOLLOW, 0))
    }

    private static func read(_ directory: Int32, _ name: String) -> String? {
        read(descriptor: cl_openat(directory, name, O_RDONLY | O_NOFOLLOW, 0))
    }

    private static func read(descriptor: Int32) -> String? {
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            // What does not fit is no path that systemd makes.
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        guard !bytes.isEmpty, bytes.count < 4096 else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
