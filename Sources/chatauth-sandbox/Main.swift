import ChatAuthAPI
import Glibc
import Sandbox

/// Starts the sandbox in the foreground and ends it on SIGTERM or SIGINT.
@main
struct Main {
    static func main() {
        let options: Options
        do {
            options = try Options(Array(CommandLine.arguments.dropFirst()))
        } catch {
            fail(error.message, status: 2)
        }
        if options.wantsHelp {
            write(Options.usage, to: STDOUT_FILENO)
            return
        }
        if options.wantsVersion {
            write("chatauth-sandbox \(Version.text)\n", to: STDOUT_FILENO)
            return
        }
        // Blocked before the first thread exists, so that all inherit it and only `sigwait` below takes them.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)

        let certificate = options.certificate.map { content(of: $0) }
        let key = options.key.map { content(of: $0) }
        let sandbox: Sandbox
        do {
            sandbox = try Sandbox(
                port: options.port, tlsPort: options.tlsPort ?? 0, certificate: certificate, key: key,
                clock: { wallMilliseconds() }, random: { randomBytes($0) })
        } catch {
            switch error {
            case .listen(let port, let code):
                fail("cannot listen on 127.0.0.1 port \(port): \(String(cString: strerror(code)))", status: 1)
            case .identity(let port):
                fail(
                    "cannot speak TLS on port \(port): certificate and key are no matching PEM pair",
                    status: 1)
            case .descriptors(let code): fail("cannot start: \(String(cString: strerror(code)))", status: 1)
            }
        }
        write(
            "listening http=\(sandbox.httpPort) https=\(sandbox.httpsPort.map { String($0) } ?? "none")\n",
            to: STDOUT_FILENO)
        var received: Int32 = 0
        sigwait(&signals, &received)
        sandbox.stop()
    }

    private static func wallMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // getentropy gives at most 256 bytes a call.
            while initialized < count {
                let length = min(256, count - initialized)
                guard let base = buffer.baseAddress, getentropy(base + initialized, length) == 0 else {
                    fail("no randomness from the kernel", status: 1)
                }
                initialized += length
            }
        }
    }

    private static func content(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            fail("cannot read \(path): \(String(cString: strerror(errno)))", status: 1)
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 16_384)
        // A certificate chain is some kilobytes; anything far larger is another file.
        while content.count < 1 << 20 {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { break }
            content += block[..<count]
        }
        return String(decoding: content, as: UTF8.self)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        write("chatauth-sandbox: \(message)\n", to: STDERR_FILENO)
        exit(status)
    }
}
