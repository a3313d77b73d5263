import CCurl
import CredentialCore
import Secrets

/// The header lines of one request as libcurl wants them, wiped at the end.
///
/// libcurl's own list functions copy each line and leave the copies behind in freed memory.
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?
    private var last: UnsafeMutablePointer<curl_slist>?

    init(_ request: FetchRequest) {
        // A name with nothing behind the colon is a field that libcurl would send by itself and now does not.
        append("Expect:", nil)
        if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            append("Content-Type:", nil)
        }
        for (name, value) in request.headers {
            // libcurl's way to say: this field, with an empty value.
            if value.isEmpty { append(name + ";", nil) } else { append(name + ": ", value) }
        }
    }

    deinit { cc_list_free(first) }

    private mutating func append(_ name: String, _ value: SecretBytes?) {
        var line = SecretBuffer(capacity: name.utf8.count + (value?.count ?? 0))
        line.append(name)
        if let value { line.append(value) }
        line.withSpan { bytes in
            bytes.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    last = cc_list_append(last, bytes.baseAddress, bytes.count)
                }
            }
        }
        first = first ?? last
    }
}
