package import CredentialCore
import Secrets

/// What a request must be before it is sent to a worker, and again before a worker carries it out.
///
/// libcurl puts header values on the wire as they are: a line end in one would be a header, or a request, of somebody else's making.
package enum RequestRules {
    // What curl writes by itself; from outside they would make it and the server disagree on where a message ends, or to whom it goes.
    private static let reservedHeaders: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
        "proxy-connection",
        "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// - Throws: `outOfRange` for sizes, `notAllowed` for content.
    package static func check(_ request: FetchRequest) throws(WireFailure) {
        guard WireLimits.timeout.contains(request.timeout.count),
            (0...WireLimits.body).contains(request.bodyLimit),
            request.body?.count ?? 0 <= WireLimits.body,
            request.partition.utf8.count <= WireLimits.partition,
            request.headers.count <= WireLimits.headerCount
        else { throw .outOfRange }
        guard request.method.takesBody || request.body == nil else { throw .notAllowed }
        var headerBytes = 0
        for (name, value) in request.headers {
            headerBytes += name.utf8.count + value.count
            guard headerBytes <= WireLimits.headerBytes else { throw .outOfRange }
            guard isToken(name), !reservedHeaders.contains(name.lowercased()), isFieldValue(value) else {
                throw .notAllowed
            }
        }
        if let caFile = request.caFile {
            guard caFile.utf8.count <= WireLimits.path else { throw .outOfRange }
            guard caFile.hasPrefix("/"), !caFile.utf8.contains(0) else { throw .notAllowed }
        }
        if let proxy = request.proxy, !isProxy(proxy) { throw .notAllowed }
    }

    /// RFC 9110 §5.6.2.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    // RFC 9110 §5.5: no control character but the tab.
    private static func isFieldValue(_ value: SecretBytes) -> Bool {
        value.withSpan { bytes in
            for index in 0..<bytes.count {
                let byte = bytes[index]
                if byte < 0x20 && byte != 0x09 || byte == 0x7F { return false }
            }
            return true
        }
    }

    // A scheme, a host and perhaps a port: what `HTTPURL` calls an origin, here also over plain http, since the request inside is TLS.
    private static func isProxy(_ text: String) -> Bool {
        let authority: Substring
        if text.hasPrefix("http://") {
            authority = text.dropFirst(7)
        } else if text.hasPrefix("https://") {
            authority = text.dropFirst(8)
        } else {
            return false
        }
        guard !authority.contains("/"), !authority.contains("?") else { return false }
        return (try? HTTPURL("https://" + authority)) != nil
    }
}
