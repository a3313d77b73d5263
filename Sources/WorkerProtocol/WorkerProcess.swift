import CLinux
import CredentialCore
import EventLoop
import Glibc

/// A child of this process, from its start until it has been reaped.
///
/// Its pid stays its own until then, so that a signal can reach nobody else.
final class WorkerProcess {
    let pid: Int32
    private var descriptor: Int32 = -1
    private var watch: DescriptorWatch?
    private var timer: LoopTimer?
    private let clock: any Clock
    private let onExit: (Int32) -> Void
    private var isReaped = false
    private var killAt: BootTime?
    // Only for kernels without pidfd_open, and to look whether a farewell takes too long.
    private static let pollInterval = Milliseconds(100)

    /// Watches `pid`; `onExit` gets its wait status, once, from the loop.
    init(loop: EventLoop, clock: any Clock, pid: Int32, onExit: @escaping (Int32) -> Void)
        throws(EventLoopFailure)
    {
        self.pid = pid
        self.clock = clock
        self.onExit = onExit
        descriptor = cl_pidfd_open(pid)
        timer = try loop.makeTimer { [unowned self] in self.poll() }
        if descriptor >= 0 {
            watch = try loop.watch(descriptor, events: Readiness.readable) { [unowned self] _ in self.reap() }
        } else {
            timer?.set(bootMilliseconds: (clock.now.boot + Self.pollInterval).milliseconds)
        }
    }

    deinit {
        kill()
        if !isReaped {
            // SIGKILL takes a moment; a child that is not waited for stays as a zombie for as long as this process lives.
            var ended = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if descriptor >= 0 { Glibc.poll(&ended, 1, 1000) }
            var status: Int32 = 0
            waitpid(pid, &status, WNOHANG)
        }
        watch = nil
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends it at once, unless it has ended.
    func kill() {
        if !isReaped { Glibc.kill(pid, SIGKILL) }
    }

    /// Ends it unless it does so itself within `grace`.
    func kill(after grace: Milliseconds) {
        guard !isReaped else { return }
        killAt = clock.now.boot + grace
        poll()
    }

    private func poll() {
        withExtendedLifetime(self) {
            reap()
            guard !isReaped else { return }
            if let killAt, clock.now.boot >= killAt { kill() }
            timer?.set(bootMilliseconds: (clock.now.boot + Self.pollInterval).milliseconds)
        }
    }

    private func reap() {
        var status: Int32 = 0
        guard !isReaped, waitpid(pid, &status, WNOHANG) == pid else { return }
        isReaped = true
        watch = nil
        timer?.cancel()
        onExit(status)
    }
}
