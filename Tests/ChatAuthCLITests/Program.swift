import CLinux
import Glibc
import Testing

/// The real program, run once against a daemon that the test plays.
struct Program {
    /// What the played daemon does with each line that it reads.
    enum Step {
        /// Answers with that result.
        case result(String)
        /// Answers with an error of that code; `data` is the object beside its message.
        case error(Int64, message: String, data: String)
        /// Sends these bytes; `$ID` in them is the id of the request.
        case bytes(String)
        /// Sends these bytes and ends the connection.
        case lastBytes(String)
        /// Says nothing until the program goes away.
        case silence
    }

    enum Destination {
        case pipe
        case path(String)
        case closedPipe
        case terminal
        case closed
    }

    struct Outcome {
        var status: Int32 = -1
        var output = ""
        var errors = ""
        var requests: [String] = []
    }

    /// A directory of its own; the sockets are in it.
    let directory: String
    private let listener: Int32
    private let socket: String

    init(socket name: String = "chatauth.sock") {
        var template = Array("/tmp/chatauth-cli-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { preconditionFailure("no directory for the test") }
        directory = String(cString: made)
        socket = directory + "/" + name
        if name.contains("/") { mkdir(directory + "/" + name.split(separator: "/")[0], 0o700) }
        listener = socket.utf8CString.withUnsafeBufferPointer {
            cl_listen_unix($0.baseAddress, $0.count - 1, 0o600, 16)
        }
        precondition(listener >= 0)
    }

    func remove() {
        close(listener)
        for name in ["chatauth/chatauth.sock", "chatauth.sock", "chatauth-admin.sock", "a", "b"] {
            unlink(directory + "/" + name)
        }
        rmdir(directory + "/chatauth")
        rmdir(directory)
    }

    /// A file in the directory.
    func file(_ name: String, _ content: String) -> String {
        let path = directory + "/" + name
        let descriptor = cl_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var content = content
        content.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return path
    }

    /// The program beside the running tests.
    static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let own = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/chatauth"
    }()

    // What the sanitizer of a test build is told holds for the programs that the tests start, too.
    static var sanitizer: [String] {
        getenv("ASAN_OPTIONS").map { ["ASAN_OPTIONS=" + String(cString: $0)] } ?? []
    }

    /// Runs it; `--socket` is added unless the environment says where the daemon is.
    func run(
        _ arguments: [String], _ script: [Step] = [], input: String = "", to destination: Destination = .pipe,
        environment: [String]? = nil
    ) -> Outcome {
        var outcome = Outcome()
        let output = Pipe(destination)
        let errors = Pipe(.pipe)
        let inputFile = cl_memory_file("input")
        var text = input
        text.withUTF8 { _ = write(inputFile, $0.baseAddress, $0.count) }
        lseek(inputFile, 0, SEEK_SET)
        var words = [Self.path]
        var isPlaced = false
        for word in arguments {
            if word == "--", environment == nil, !isPlaced {
                words += ["--socket", socket]
                isPlaced = true
            }
            words.append(word)
        }
        if environment == nil, !isPlaced { words += ["--socket", socket] }
        let child = Self.spawn(
            words, (environment ?? ["PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=/nonexistent"]) + Self.sanitizer,
            [inputFile, output.writeEnd, errors.writeEnd])
        close(inputFile)
        output.closeWriteEnd()
        errors.closeWriteEnd()
        if !script.isEmpty { outcome.requests = play(script) }
        (outcome.output, outcome.errors) = Pipe.drain(output, errors)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        outcome.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
        return outcome
    }

    private static func spawn(_ words: [String], _ environment: [String], _ descriptors: [Int32]) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        for (place, descriptor) in descriptors.enumerated() {
            if descriptor >= 0 {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(place))
            } else {
                posix_spawn_file_actions_addclose(&actions, Int32(place))
            }
        }
        var argv = words.map { strdup($0) } + [nil]
        var envp = environment.map { strdup($0) } + [nil]
        var child: pid_t = 0
        let error = posix_spawn(&child, words[0], &actions, nil, &argv, &envp)
        precondition(error == 0, "cannot run \(words[0])")
        posix_spawn_file_actions_destroy(&actions)
        for pointer in argv + envp { free(pointer) }
        return child
    }

    /// Accepts one connection and follows the script; the lines that it read.
    private func play(_ script: [Step]) -> [String] {
        guard Self.isReadable(listener) else { return [] }
        var connection: Int32 = -1
        while connection < 0 { connection = cl_accept(listener) }
        defer { close(connection) }
        var lines: [String] = []
        var received: [UInt8] = []
        for step in script {
            guard let line = Self.line(connection, &received) else { return lines }
            lines.append(line)
            let id =
                line.split(separator: "\"id\":").dropFirst().first.map { $0.prefix { $0.isNumber } } ?? "null"
            switch step {
            case .result(let result):
                Self.send(connection, "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":\(result)}\n")
            case .error(let code, let message, let data):
                Self.send(
                    connection,
                    "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":{\"code\":\(code),\"message\":\"\(message)\",\"data\":\(data)}}\n"
                )
            case .bytes(let bytes): Self.send(connection, Self.replace(bytes, id))
            case .lastBytes(let bytes):
                Self.send(connection, Self.replace(bytes, id))
                return lines
            case .silence:
                while Self.line(connection, &received) != nil {}
            }
        }
        // What comes after the script would be a request too many.
        while let line = Self.line(connection, &received) { lines.append(line) }
        return lines
    }

    private static func replace(_ text: String, _ id: Substring) -> String {
        text.split(separator: "$ID", omittingEmptySubsequences: false).joined(separator: String(id))
    }

    private static func line(_ connection: Int32, _ received: inout [UInt8]) -> String? {
        while true {
            if let end = received.firstIndex(of: 10) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 1)
                return line
            }
            guard isReadable(connection) else { return nil }
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            received += chunk[..<count]
        }
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 30_000) > 0
    }

    private static func send(_ connection: Int32, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var sent = 0
            while sent < bytes.count, let base = bytes.baseAddress {
                let count = Glibc.send(
                    connection, base + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EAGAIN {
                    var wanted = pollfd(fd: connection, events: Int16(POLLOUT), revents: 0)
                    guard poll(&wanted, 1, 30_000) > 0 else { return }
                    continue
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}

/// One of the program's outputs.
private final class Pipe {
    private(set) var readEnd: Int32 = -1
    private(set) var writeEnd: Int32 = -1

    init(_ destination: Program.Destination) {
        switch destination {
        case .pipe, .closedPipe:
            var ends: [Int32] = [-1, -1]
            // Close-on-exec from the first moment, which Swift's pipe() is not: tests run beside one another.
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0)
            (readEnd, writeEnd) = (ends[0], ends[1])
            if case .closedPipe = destination {
                close(readEnd)
                readEnd = -1
            }
        case .path(let path): writeEnd = cl_open(path, O_WRONLY, 0)
        case .terminal:
            readEnd = cl_open("/dev/ptmx", O_RDWR | O_NOCTTY, 0)
            // TIOCSPTLCK and TIOCGPTN, whose definitions Swift cannot read.
            var unlock: Int32 = 0
            var number: Int32 = 0
            precondition(
                ioctl(readEnd, 0x4004_5431, &unlock) == 0 && ioctl(readEnd, 0x8004_5430, &number) == 0)
            writeEnd = cl_open("/dev/pts/\(number)", O_RDWR | O_NOCTTY, 0)
        case .closed: break
        }
    }

    func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
    }

    static func drain(_ one: Pipe, _ other: Pipe) -> (String, String) {
        var texts: [[UInt8]] = [[], []]
        var open = [one.readEnd, other.readEnd]
        while open.contains(where: { $0 >= 0 }) {
            var wanted = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&wanted, 2, 60_000) > 0 else { break }
            for index in 0..<2 where open[index] >= 0 && wanted[index].revents != 0 {
                var chunk = [UInt8](repeating: 0, count: 65536)
                let count = read(open[index], &chunk, chunk.count)
                // A terminal whose last writer went away says EIO.
                guard count > 0 else {
                    close(open[index])
                    open[index] = -1
                    continue
                }
                texts[index] += chunk[..<count]
            }
        }
        return (String(decoding: texts[0], as: UTF8.self), String(decoding: texts[1], as: UTF8.self))
    }
}

/// Runs `body` with a directory and a socket that are removed afterwards.
func withProgram(socket: String = "chatauth.sock", _ body: (Program) throws -> Void) rethrows {
    let program = Program(socket: socket)
    defer { program.remove() }
    try body(program)
}
