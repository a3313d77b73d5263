import CMicrohttpd
import Glibc

/// The edge to libmicrohttpd: one listener on 127.0.0.1 and one thread a connection.
///
/// Threads, not events: hanging, dripping and waiting are what a sandbox is for, and a thread that sleeps is the simplest thing
/// that does it without holding up anybody else.
///
/// `@unchecked` holds because the C server is used by one owner, who starts and stops it; connection threads see `sandbox` only.
final class HTTPServer: @unchecked Sendable {
    /// The port that it listens on.
    let port: UInt16
    private let server: OpaquePointer

    /// A certificate chain and its key, both PEM.
    struct Identity: Sendable {
        let certificate: String
        let key: String
    }

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - sandbox: who answers.
    ///   - port: 0 takes any free one.
    ///   - identity: nil speaks plain HTTP.
    ///   - stop: a descriptor that becomes readable when everything that blocks must end.
    /// - Throws: `SandboxFailure.listen`.
    init(
        sandbox: SandboxServer, port: UInt16, identity: Identity?, stop: Int32
    ) throws(SandboxFailure) {
        var bound: UInt16 = 0
        let handler: cm_handler = { context, exchange in
            guard let context, let exchange else { return }
            HTTPServer.serve(
                Unmanaged<SandboxServer>.fromOpaque(context).takeUnretainedValue(), exchange)
        }
        // The process keeps the sandbox for as long as it listens: `stop` gives the reference back.
        let context = Unmanaged.passRetained(sandbox).toOpaque()
        let started =
            if let identity {
                identity.certificate.withCString { certificate in
                    identity.key.withCString {
                        cm_start(port, certificate, $0, stop, handler, context, &bound)
                    }
                }
            } else {
                cm_start(port, nil, nil, stop, handler, context, &bound)
            }
        guard let started else {
            let code = errno
            Unmanaged<SandboxServer>.fromOpaque(context).release()
            // The library sets no errno when GnuTLS refuses the pair; cm_start says EINVAL for that.
            if code == EINVAL, identity != nil { throw .identity(port: port) }
            throw .listen(port: port, code: code)
        }
        server = started
        self.port = bound
        self.context = context
    }

    private let context: UnsafeMutableRawPointer

    /// Closes every connection and returns when their threads have ended; the stop descriptor must be readable by then.
    func stop() {
        cm_stop(server)
        Unmanaged<SandboxServer>.fromOpaque(context).release()
    }

    private static func serve(_ sandbox: SandboxServer, _ exchange: OpaquePointer) {
        let delivery = sandbox.delivery(for: request(exchange))
        if delivery.delay > 0, cm_pause(exchange, delivery.delay) != 0 { return }
        switch delivery.form {
        case .answer(let answer):
            guard !reply(answer, exchange) else { return }
            // The library is stricter than a fault has to be: a body with 204, a Content-Length of one's own.
            _ = perform(.send(answer.head(contentLength: answer.body.count) + answer.body), exchange)
        case .steps(let steps):
            for step in steps {
                guard perform(step, exchange) else { return }
            }
        }
    }

    private static func request(_ exchange: OpaquePointer) -> Request {
        final class Fields { var pairs: [Request.Pair] = [] }
        let fields = Fields()
        cm_each_header(
            exchange,
            { context, name, value in
                guard let context, let name, let value else { return }
                Unmanaged<Fields>.fromOpaque(context).takeUnretainedValue().pairs.append(
                    (String(cString: name), String(cString: value)))
            }, Unmanaged.passUnretained(fields).toOpaque())
        var count = 0
        var total: UInt64 = 0
        let body = cm_body(exchange, &count, &total)
        return Request(
            isTLS: cm_is_tls(exchange) != 0, method: String(cString: cm_method(exchange)),
            target: String(cString: cm_target(exchange)), headers: fields.pairs,
            body: Array(UnsafeBufferPointer(start: body, count: count)), bodyLength: total)
    }

    /// Answers through the library; false when it refuses.
    private static func reply(_ answer: Answer, _ exchange: OpaquePointer) -> Bool {
        let fields = answer.datedHeaders
        let names = fields.map { UnsafePointer(strdup($0.name)) }
        let values = fields.map { UnsafePointer(strdup($0.value)) }
        defer { for text in names + values { free(UnsafeMutablePointer(mutating: text)) } }
        return cm_reply(
            exchange, UInt32(answer.status), names, values, fields.count, answer.body, answer.body.count) == 0
    }

    /// Does one step; false when the peer has gone and the rest is pointless.
    private static func perform(_ step: Delivery.Step, _ exchange: OpaquePointer) -> Bool {
        switch step {
        case .send(let bytes): return cm_send(exchange, bytes, bytes.count) == 0
        case .fill(let count):
            let block = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536)
            var left = count
            while left > 0 {
                let length = min(left, block.count)
                guard cm_send(exchange, block, length) == 0 else { return false }
                left -= length
            }
            return true
        case .drip(let bytes, let size, let interval):
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = Array(rest.prefix(size))
                guard cm_send(exchange, part, part.count) == 0 else { return false }
                rest = rest.dropFirst(size)
                if !rest.isEmpty, cm_pause(exchange, interval) != 0 { return false }
            }
            return true
        case .hang:
            _ = cm_pause(exchange, -1)
            return false
        case .reset:
            cm_reset(exchange)
            return false
        }
    }
}
