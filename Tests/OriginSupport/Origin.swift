import CLinux
package import CredentialCore
import Glibc
import JSON
import Secrets
import WorkerProtocol

/// The misbehaving origin of origin.py, in a process of its own.
package final class Origin {
    package enum Port: String, CaseIterable {
        /// A good certificate for 127.0.0.1.
        case good
        case host
        case expired
        /// TLS 1.1 at most.
        case old
        case plain
        /// Nobody listens.
        case refused
    }

    /// Where its certificates are: `ca.pem` signed all of them, `other.pem` none.
    package let directory: String
    private let channel: Int32
    private let pid: Int32
    private var ports: [Port: Int] = [:]

    /// Nil, and a line that says so, where there is no Python.
    package init?() {
        guard access("/usr/bin/python3", X_OK) == 0, access("/usr/bin/openssl", X_OK) == 0 else {
            print("SKIPPED: python3 and openssl are needed for an origin")
            return nil
        }
        var template = Array("/tmp/chatauth-origin-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let launcher = SpawningLauncher(
            path: "/usr/bin/python3", arguments: [Scripts.path("origin.py"), directory])
        guard let endpoint = try? launcher.launch(), let pid = endpoint.pid else { return nil }
        channel = endpoint.channel
        self.pid = pid
        var document = JSONDocument()
        let line = answer()
        guard let root = try? document.parse(line.span) else { return nil }
        for port in Port.allCases {
            ports[port] = root.member(named: port.rawValue)?.integer.map { Int($0) }
        }
    }

    deinit {
        close(channel)
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        for name in Files.names(directory) { unlink(directory + "/" + name) }
        rmdir(directory)
    }

    package func port(_ port: Port) -> Int { ports[port] ?? 0 }

    package func url(_ port: Port, _ target: String) throws -> HTTPURL {
        try HTTPURL((port == .plain ? "http" : "https") + "://127.0.0.1:\(self.port(port))\(target)")
    }

    /// How many connections reached HTTP.
    package func connections() -> Int { Int(ask("connections")) ?? -1 }

    /// The targets that were asked for, as a JSON array.
    package func requests() -> String { ask("requests") }

    private func ask(_ question: String) -> String {
        let line = Array((question + "\n").utf8)
        _ = line.withUnsafeBytes { write(channel, $0.baseAddress, $0.count) }
        return String(decoding: answer(), as: UTF8.self)
    }

    // Waits: this side has nothing else to do.
    private func answer() -> [UInt8] {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            var poll = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 20_000) == 1, read(channel, &byte, 1) == 1, byte != 0x0A else {
                return line
            }
            line.append(byte)
        }
    }
}

/// The scripts of this folder.
package enum Scripts {
    package static func path(_ name: String) -> String {
        let file = #filePath
        return file.lastIndex(of: "/").map { String(file[...$0]) + name } ?? name
    }
}

enum Files {
    static func names(_ directory: String) -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.filter { $0 != "." && $0 != ".." }
    }
}
