import Glibc

/// One HTTP exchange seen from the client's side of the socket, byte by byte: also the answers that no library would hand on.
struct Wire {
    enum Ending: Equatable {
        /// FIN: the server closed in order.
        case closed
        /// RST.
        case reset
        /// Nothing more came for as long as the test cares to wait.
        case silent
    }

    let bytes: [UInt8]
    let ending: Ending
    /// How many reads it took, and so at least how many pieces came apart.
    let pieces: Int
    let milliseconds: Int64

    /// The header section without its last empty line; all there is when the section never ended.
    var head: String { String(decoding: bytes[..<split.head], as: UTF8.self) }
    var body: [UInt8] { Array(bytes[split.body...]) }
    var bodyText: String { String(decoding: body, as: UTF8.self) }
    var isHeadComplete: Bool { split.body <= bytes.count && split.head != bytes.count }

    var status: Int? {
        let words = head.split(separator: " ", maxSplits: 2)
        return words.count > 1 && isHeadComplete ? Int(words[1]) : nil
    }

    func header(_ name: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            if sides[0].lowercased() == name.lowercased() { return String(sides[1].drop { $0 == " " }) }
        }
        return nil
    }

    private var split: (head: Int, body: Int) {
        let end = Array("\r\n\r\n".utf8)
        for index in bytes.indices where bytes[index] == end[0] && bytes[index...].starts(with: end) {
            return (index, index + 4)
        }
        return (bytes.count, bytes.count)
    }
}

/// A client's connection to 127.0.0.1.
final class Connection {
    let descriptor: Int32

    struct Failure: Error { let code: Int32 }

    init(port: UInt16) throws(Failure) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }

    func send(
        _ method: String, _ target: String, headers: [String] = [], body: [UInt8] = [], close: Bool = true
    ) {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if close { text += "Connection: close\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
        for header in headers { text += header + "\r\n" }
        var rest = (Array((text + "\r\n").utf8) + body)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until the server closes or resets, or is silent for `milliseconds`.
    func receive(silence milliseconds: Int32 = 20_000) -> Wire {
        let start = monotonicMilliseconds()
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        var pieces = 0
        var ending = Wire.Ending.silent
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, milliseconds) > 0 else { break }
            let count = recv(descriptor, &block, block.count, 0)
            guard count > 0 else {
                ending = count == 0 ? .closed : .reset
                break
            }
            bytes += block[..<count]
            pieces += 1
        }
        return Wire(
            bytes: bytes, ending: ending, pieces: pieces, milliseconds: monotonicMilliseconds() - start)
    }
}

private func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}
