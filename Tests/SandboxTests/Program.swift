import Glibc

/// A child process whose standard output the test reads; ended, by its pid, when the test lets go of it.
final class Program {
    private(set) var pid: pid_t = 0
    private var output: Int32 = -1
    private var status: Int32?

    struct CannotStart: Error { let code: Int32 }

    init(_ path: String, _ arguments: [String]) throws(CannotStart) {
        // A socket pair, because it can be made close-on-exec in one step: no other child may keep the writing end open.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CannotStart(code: errno) }
        output = ends[0]
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        let texts: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        let code = posix_spawn(&pid, path, &actions, nil, texts, environ)
        guard code == 0 else { throw CannotStart(code: code) }
    }

    deinit {
        if status == nil, pid > 0 {
            kill(pid, SIGKILL)
            _ = wait()
        }
        close(output)
    }

    func line() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    func rest() -> [UInt8] {
        var rest: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(output, &block, block.count)
            guard count > 0 else { return rest }
            rest += block[..<count]
        }
    }

    func send(_ signal: Int32) { kill(pid, signal) }

    /// The exit status; 128 and the signal when one ended it.
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + (raw & 0x7F)
        self.status = status
        return status
    }
}

/// Runs `path` to its end.
func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let program = try Program(path, arguments)
    let output = program.rest()
    return (program.wait(), String(decoding: output, as: UTF8.self))
}
