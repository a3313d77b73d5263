import CMicrohttpd
import Glibc

/// Why a sandbox cannot start.
package enum SandboxFailure: Error, Equatable, Sendable {
    /// The server cannot listen on that port; `code` is an errno.
    case listen(port: UInt16, code: Int32)
    /// Certificate and key are no PEM, or do not belong together.
    case identity(port: UInt16)
    case descriptors(code: Int32)
}

/// A running sandbox: the stand-ins behind HTTP, and behind HTTPS where there is a certificate, on 127.0.0.1 only.
package struct Sandbox: ~Copyable {
    private let server: SandboxServer
    private let plain: HTTPServer
    private let secure: HTTPServer?
    private let stopper: Int32

    /// The ports that it listens on; `https` is nil without a certificate.
    package var httpPort: UInt16 { plain.port }
    /// The port of HTTPS; nil without a certificate.
    package var httpsPort: UInt16? { secure?.port }

    /// Starts listening, on HTTPS too where `certificate` and `key` (PEM text) are given; port 0 takes any free one.
    ///
    /// - Parameters:
    ///   - port: of plain HTTP.
    ///   - tlsPort: of HTTPS.
    ///   - certificate: the server's certificate and what leads from it to the CA.
    ///   - key: its private key.
    ///   - clock: Unix milliseconds.
    ///   - random: so many unpredictable bytes.
    /// - Throws: `SandboxFailure`.
    package init(
        port: UInt16, tlsPort: UInt16, certificate: String?, key: String?,
        clock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) throws(SandboxFailure) {
        let stopper = cm_stopper()
        guard stopper >= 0 else { throw .descriptors(code: errno) }
        let server = SandboxServer(clock: clock, random: random)
        let plain = try HTTPServer(sandbox: server, port: port, identity: nil, stop: stopper)
        if let certificate, let key {
            secure = try HTTPServer(
                sandbox: server, port: tlsPort,
                identity: HTTPServer.Identity(certificate: certificate, key: key), stop: stopper)
        } else {
            secure = nil
        }
        self.stopper = stopper
        self.server = server
        self.plain = plain
    }

    /// Ends every connection and every wait, and stops listening.
    package consuming func stop() {
        server.stop()
        cm_raise(stopper)
        plain.stop()
        secure?.stop()
        close(stopper)
    }
}
