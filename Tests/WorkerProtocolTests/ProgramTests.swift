import Glibc
import OriginSupport
import Testing
import WorkerProtocol

/// chatauth-fetch as its client meets it: bytes on a socket, and an exit code.
@Suite struct `Fetch worker program` {
    private final class Worker {
        let channel: Int32
        let pid: Int32
        private var isReaped = false

        init(_ launcher: SpawningLauncher = SpawningLauncher(path: Programs.path("chatauth-fetch"))) throws {
            let endpoint = try launcher.launch()
            channel = endpoint.channel
            pid = try #require(endpoint.pid)
        }

        deinit {
            close(channel)
            guard !isReaped else { return }
            kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }

        func say(_ text: String) {
            let bytes = Array((text + "\n").utf8)
            #expect(send(channel, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
        }

        /// The next line; empty at the end.
        func line() -> String {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while true {
                var poll = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, 20_000) == 1, read(channel, &byte, 1) == 1, byte != 0x0A else {
                    return String(decoding: line, as: UTF8.self)
                }
                line.append(byte)
            }
        }

        func exitCode() -> Int32 {
            var status: Int32 = 0
            waitpid(pid, &status, 0)
            isReaped = true
            return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
        }
    }

    private func fetch(_ id: Int, _ url: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"fetch","params":{"url":"\#(url)","method":"GET","headers":[],"#
            + #""timeout_ms":8000,"body_limit":10,"partition":"p"}}"#
    }

    @Test func `it answers, and ends with its client`() throws {
        guard let origin = Origin() else { return }
        let worker = try Worker()
        worker.say(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        #expect(worker.line() == #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        worker.say(fetch(2, "http://127.0.0.1:\(origin.port(.plain))/silent"))
        worker.say(#"{"jsonrpc":"2.0","method":"cancel","params":{"id":99}}"#)
        worker.say(#"{"jsonrpc":"2.0","method":"cancel","params":{"id":2}}"#)
        let kind = #""data":{"kind":"cancelled"}}}"#
        #expect(
            worker.line() == #"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"fetch failed","# + kind)
        worker.say(fetch(3, "http://127.0.0.2.example/"))
        #expect(worker.line().contains(#""id":3,"error""#))
        shutdown(worker.channel, Int32(SHUT_WR))
        #expect(worker.line().isEmpty)
        #expect(worker.exitCode() == 0)
    }

    @Test(arguments: [
        "garbage", "[]", #"{"jsonrpc":"2.0","id":1,"method":"open"}"#,
        #"{"jsonrpc":"2.0","id":"a","method":"fetch","params":{}}"#,
        #"{"jsonrpc":"2.0","id":-1,"method":"fetch","params":{}}"#, #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        #"{"jsonrpc":"2.0","method":"cancel","params":{"id":1e300}}"#,
    ])
    func `it ends when it is spoken to in another language`(_ line: String) throws {
        let worker = try Worker()
        worker.say(line)
        #expect(worker.line().isEmpty)
        #expect(worker.exitCode() == 3)
    }

    @Test func `it does not start without a socket`() throws {
        let program = Programs.path("chatauth-fetch")
        let shell = try Worker(
            SpawningLauncher(
                path: "/bin/sh",
                arguments: ["-c", "\(program) 3</dev/null 2>/dev/null; echo $? >&3"]))
        #expect(shell.line() == "2")
    }

    @Test func `it leaves no core behind`() throws {
        let worker = try Worker()
        worker.say(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        #expect(!worker.line().isEmpty)
        let file = try #require(fopen("/proc/\(worker.pid)/limits", "re"))
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 4096)
        let count = fread(&text, 1, text.count, file)
        let limits = String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ")[4...5] == ["0", "0"])
    }
}
