import CLinux
import Glibc

/// What a process that holds secrets does before anything else.
enum Process {
    /// Forbids dumps, cores and looking in; true when the kernel agreed.
    static func harden() -> Bool {
        guard cl_forbid_dumps() == 0, cl_is_dumpable() == 0 else { return false }
        cl_forbid_cores()
        umask(0o077)
        signal(SIGPIPE, SIG_IGN)
        return true
    }

    /// Raises the soft limit of descriptors to the hard one; returns it.
    static func raiseDescriptorLimit() -> Int { Int(clamping: cl_raise_descriptor_limit()) }

    /// Keeps every page in memory where that is allowed without a bound; true when it is so.
    ///
    /// With a bound a later allocation would fail, which is worse than a page on an encrypted swap.
    static func lockMemory() -> Bool { cl_may_lock_memory() == 1 && cl_lock_memory() == 0 }

    /// Gives back the memory that only the start needed; before it is locked, since what is locked stays.
    static func forgetStart() { cl_forget_start() }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Writes to standard error.
    static func complain(_ text: String) {
        var text = text
        text.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    static func print(_ text: String) {
        var text = text
        text.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
    }

    /// The identity of this boot; where the kernel does not say, one that no other process has.
    static func bootID() -> String {
        var text = [UInt8](repeating: 0, count: 64)
        let descriptor = cl_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0)
        defer { if descriptor >= 0 { close(descriptor) } }
        let count = descriptor < 0 ? -1 : read(descriptor, &text, text.count)
        guard count > 0 else { return "unknown-\(random())" }
        return String(decoding: text.prefix(count), as: UTF8.self).filter { !$0.isWhitespace }
    }

    /// The directory of this program; its worker lies beside it or in `../lib/chatauth`.
    static func ownDirectory() -> String {
        guard let path = realpath("/proc/self/exe", nil) else { return "." }
        defer { free(path) }
        let text = String(cString: path)
        return text.lastIndex(of: "/").map { String(text[..<$0]) } ?? "."
    }

    static func random() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
