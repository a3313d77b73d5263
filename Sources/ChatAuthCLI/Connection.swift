import CLinux
import Glibc
import JSON
import Secrets

/// A connection to the daemon: one call after another, each within its time.
final class Connection {
    /// What an answer may weigh: several times the largest that the daemon gives.
    private static let largestAnswer = 4 << 20
    private static let chunk = 16 << 10

    private let descriptor: Int32
    private var received = SecretBuffer(capacity: chunk)
    /// How much of `received` has been searched for a line end.
    private var searched = 0
    private var document = JSONDocument(limits: JSONLimits(length: largestAnswer, depth: 64))
    private var lastID: Int64 = 0

    /// Connects; connecting and each write take `patience` milliseconds at most.
    init(to path: SocketPath, patience: Int64) throws(Failure) {
        var text = path.text
        let opened = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cl_connect_unix_within($0.baseAddress, $0.count, Int32(clamping: patience))
            }
        }
        guard opened >= 0 else {
            let error = errno
            throw error == EAGAIN ? .timedOut : .notReachable(path, errno: error)
        }
        // A caller that closed its standard output shall not have the request written where its data was to go.
        descriptor = cl_above_standard(opened)
        guard descriptor >= 0 else { throw .system(call: "fcntl", errno: errno) }
    }

    deinit { close(descriptor) }

    /// Calls `method` and lends its result to `answer`.
    ///
    /// `params` writes one object or array.
    func call(
        _ method: String, patience: Int64, params: (inout JSONWriter) throws(Failure) -> Void,
        answer: (JSONValue) throws(Failure) -> Void
    ) throws(Failure) {
        let deadline = cl_boot_milliseconds() + patience
        try send(request(method, params), deadline)
        var isAnswered = false
        while !isAnswered {
            let length = try receiveLine(deadline)
            try withMessage(length) { (message) throws(Failure) in
                isAnswered = try answerIfItIs(message, answer)
            }
            drop(length)
        }
    }

    /// Calls `method`, lends its result to `answer` and each notification that arrives to `event`, also those that come before the
    /// answer, until the daemon ends the connection.
    func follow(
        _ method: String, patience: Int64, params: (inout JSONWriter) throws(Failure) -> Void,
        answer: (JSONValue) throws(Failure) -> Void,
        event: (_ method: JSONValue, _ message: JSONValue) throws(Failure) -> Void
    ) throws(Failure) {
        let deadline = cl_boot_milliseconds() + patience
        try send(request(method, params), deadline)
        var isAnswered = false
        while true {
            let length = try receiveLine(isAnswered ? nil : deadline)
            try withMessage(length) { (message) throws(Failure) in
                if let name = message.member("method") {
                    if name.kind == .string, message.member("id") == nil { try event(name, message) }
                } else if try answerIfItIs(message, answer) {
                    isAnswered = true
                }
            }
            drop(length)
        }
    }

    private func request(
        _ method: String, _ params: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) -> SecretBuffer {
        lastID += 1
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("jsonrpc")
        writer.string("2.0")
        writer.key("id")
        writer.integer(lastID)
        writer.key("method")
        writer.string(method)
        writer.key("params")
        try params(&writer)
        writer.endObject()
        writer.endLine()
        return writer.finish()
    }

    /// False when the message is not the answer to the last call: a notification, or an answer that nobody asked for.
    private func answerIfItIs(
        _ message: JSONValue, _ answer: (JSONValue) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        guard message.kind == .object, message.member("jsonrpc")?.isString("2.0") ?? false else {
            throw .badAnswer(.notJSONRPC)
        }
        guard message.member("method") == nil else { return false }
        if let result = message.member("result"), message.member("error") == nil {
            guard message.member("id")?.integer == lastID else { return false }
            try answer(result)
            return true
        }
        guard let error = message.member("error"), message.member("result") == nil,
            let refusal = Refusal(error), let id = message.member("id")
        else { throw .badAnswer(.notJSONRPC) }
        // The id is null when the daemon could not read the request: nobody else's request is on this connection.
        guard id.isNull || id.integer == lastID else { return false }
        throw .refused(refusal)
    }

    private func withMessage(_ length: Int, _ body: (JSONValue) throws(Failure) -> Void) throws(Failure) {
        try received.withSpan { (bytes) throws(Failure) in
            try Self.read(bytes.extracting(0..<length), with: &document, body)
        }
    }

    private static func read(
        _ bytes: Span<UInt8>, with document: inout JSONDocument, _ body: (JSONValue) throws(Failure) -> Void
    ) throws(Failure) {
        let root: JSONValue
        do throws(JSONFailure) {
            root = try document.parse(bytes)
        } catch {
            throw .badAnswer(.notJSON)
        }
        try body(root)
    }

    private func drop(_ length: Int) {
        received.removeFirst(length + 1)
        searched = 0
    }

    private func send(_ request: borrowing SecretBuffer, _ deadline: Int64) throws(Failure) {
        let error = request.withSpan { span in
            span.withUnsafeBufferPointer { bytes -> Int32 in
                var sent = 0
                while sent < bytes.count, let base = bytes.baseAddress {
                    let count = Glibc.send(descriptor, base + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                    if count >= 0 {
                        sent += count
                    } else if errno != EINTR {
                        return errno
                    }
                    if sent < bytes.count, cl_boot_milliseconds() >= deadline { return EAGAIN }
                }
                return 0
            }
        }
        switch error {
        case 0: return
        case EAGAIN: throw .timedOut
        // It may have said why before it closed.
        case EPIPE, ECONNRESET: return
        default: throw .system(call: "send", errno: error)
        }
    }

    /// Waits for a complete line at the beginning of `received`: its length without the line end.
    private func receiveLine(_ deadline: Int64?) throws(Failure) -> Int {
        while true {
            let length = lineEnd()
            if length >= 0 { return length }
            guard received.count < Self.largestAnswer else { throw .badAnswer(.tooLarge) }
            try waitForBytes(deadline)
            var count = 0
            received.append(upTo: Self.chunk) { room in
                count = recv(descriptor, room.baseAddress, room.count, 0)
                return max(count, 0)
            }
            if count == 0 { throw .connectionLost }
            guard count < 0, errno != EINTR else { continue }
            if errno == ECONNRESET { throw .connectionLost }
            throw .system(call: "recv", errno: errno)
        }
    }

    private func waitForBytes(_ deadline: Int64?) throws(Failure) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let rest = deadline.map { Int32(clamping: max($0 - cl_boot_milliseconds(), 0)) } ?? -1
            let count = poll(&wanted, 1, rest)
            if count > 0 { return }
            if count == 0 { throw .timedOut }
            guard errno == EINTR else { throw .system(call: "poll", errno: errno) }
        }
    }

    /// Where the first line ends; negative while there is no line end.
    ///
    /// Not an optional: its type would be built at run time (see `ShortList`).
    private func lineEnd() -> Int {
        let start = searched
        searched = received.count
        return received.withSpan { span -> Int in
            span.withUnsafeBufferPointer { bytes -> Int in
                guard let base = bytes.baseAddress, start < bytes.count,
                    let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
                else { return -1 }
                return UnsafeRawPointer(found) - UnsafeRawPointer(base)
            }
        }
    }
}
