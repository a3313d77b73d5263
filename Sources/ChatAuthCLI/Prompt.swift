import CLinux
import Glibc
import Secrets

/// A secret that is typed or pasted at a terminal, which does not show it.
enum Prompt {
    /// What ends or stops the program from the keyboard or from outside: the terminal must be put right first.
    private static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    /// Asks on standard error and reads one line from standard input, which is a terminal.
    static func line(_ question: StaticString, limit: Int) throws(Failure) -> SecretBuffer {
        var usual = termios()
        guard tcgetattr(STDIN_FILENO, &usual) == 0 else { throw .system(call: "tcgetattr", errno: errno) }
        let told = cl_signals_fd(signals, signals.count)
        guard told >= 0 else { throw .system(call: "signalfd", errno: errno) }
        defer {
            close(told)
            mask(SIG_UNBLOCK, signals)
        }
        var hidden = usual
        // By the byte: a terminal that waits for lines cuts them at 4095 bytes, and tokens are longer than that.
        hidden.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON)
        hidden.c_cc.5 = 0
        hidden.c_cc.6 = 1
        while true {
            guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
                throw .system(call: "tcsetattr", errno: errno)
            }
            Output.ask(question)
            var typed = SecretBuffer(capacity: 1024)
            let outcome = read(&typed, told, limit)
            tcsetattr(STDIN_FILENO, TCSANOW, &usual)
            Output.ask("\n")
            switch outcome {
            case .line: return typed
            case .failed(let errno): throw .unreadableInput(path: "the terminal", errno: errno)
            case .signal(let number): take(number)
            }
        }
    }

    private enum Outcome {
        case line
        case failed(errno: Int32)
        case signal(Int32)
    }

    private static func read(_ typed: inout SecretBuffer, _ told: Int32, _ limit: Int) -> Outcome {
        while true {
            var wanted = (
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: told, events: Int16(POLLIN), revents: 0)
            )
            let count = withUnsafeMutablePointer(to: &wanted) { pair in
                pair.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, -1) }
            }
            guard count > 0 || errno == EINTR else { return .failed(errno: errno) }
            if wanted.1.revents != 0 { return .signal(number(told)) }
            guard wanted.0.revents != 0 else { continue }
            var byte: UInt8 = 0
            let read = Glibc.read(STDIN_FILENO, &byte, 1)
            guard read > 0 else {
                if read < 0, errno == EINTR { continue }
                return read == 0 ? .line : .failed(errno: errno)
            }
            switch byte {
            // Return, and Control-D.
            case 0x0A, 0x0D, 0x04: return .line
            // The two keys that take back, and Control-U.
            case 0x08, 0x7F: typed.truncate(to: max(typed.count - 1, 0))
            case 0x15: typed.truncate(to: 0)
            default:
                // One more than may be: whoever reads it says that it is too large.
                if typed.count <= limit { typed.append(byte) }
            }
        }
    }

    private static func number(_ told: Int32) -> Int32 {
        // signalfd_siginfo has 128 bytes and begins with the number.
        var information = [UInt32](repeating: 0, count: 32)
        guard Glibc.read(told, &information, 128) == 128 else { return SIGTERM }
        return Int32(truncatingIfNeeded: information[0])
    }

    /// Lets a signal do what it would have done; comes back only after one that stopped the program for a while.
    private static func take(_ number: Int32) {
        kill(getpid(), number)
        mask(SIG_UNBLOCK, [number])
        mask(SIG_BLOCK, [number])
    }

    private static func mask(_ how: Int32, _ numbers: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(how, &set, nil)
    }
}
