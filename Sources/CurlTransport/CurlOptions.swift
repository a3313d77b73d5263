import CCurl
import CredentialCore
import Secrets
import WorkerProtocol

/// Every option that decides where a request goes, whom it trusts and how long it may take.
///
/// What libcurl would take from its surroundings (proxies, .netrc, cookies, redirects, credentials for authentication) is switched off
/// by name, also where it is off by default: a default is somebody else's decision.
enum CurlOptions {
    // Milliseconds.
    private static let connectTimeout: Int64 = 5000
    // A response that stands still this long will not come, however long it might take (seconds).
    private static let lowSpeedTime = 30
    // Younger than what usual servers and middle boxes forget (seconds).
    private static let connectionLifetime = 300

    /// False when libcurl refuses one of them.
    static func apply(
        to easy: UnsafeMutableRawPointer, _ request: FetchRequest, userAgent: String
    ) -> Bool {
        var isAccepted = true
        func set(_ option: CURLoption, _ value: Int) {
            isAccepted = isAccepted && cc_set_long(easy, option, value) == CURLE_OK
        }
        func set(_ option: CURLoption, _ text: String?) {
            isAccepted = isAccepted && cc_set_text(easy, option, text) == CURLE_OK
        }

        // Where to.
        set(CURLOPT_URL, request.url.text)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // `HTTPURL` lets plain http through to a literal loopback address only.
        set(CURLOPT_PROTOCOLS_STR, request.url.origin.hasPrefix("http://") ? "http" : "https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_MAXREDIRS, 0)
        set(CURLOPT_PROXY, request.proxy ?? "")
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_HTTPPROXYTUNNEL, request.proxy == nil ? 0 : 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)

        // Whom to trust.
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = request.caFile {
            // Both: the directory of the system's certificates would be trusted beside the file.
            set(CURLOPT_CAINFO, caFile)
            set(CURLOPT_CAPATH, nil)
        }

        // What to send.
        // One request a connection at a time: HTTP/2 would save nothing for one token in many minutes, and is much more to parse.
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_USERAGENT, userAgent)
        set(CURLOPT_NETRC, 0)
        set(CURLOPT_COOKIEFILE, nil)
        set(CURLOPT_REFERER, nil)
        set(CURLOPT_AUTOREFERER, 0)
        set(CURLOPT_ACCEPT_ENCODING, nil)
        switch request.method {
        case .get: set(CURLOPT_HTTPGET, 1)
        case .post, .put, .patch:
            set(CURLOPT_POST, 1)
            if request.method != .post { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
            isAccepted =
                isAccepted
                && cc_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int(request.body?.count ?? 0)) == CURLE_OK
        case .delete: set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }

        // How long.
        let timeout = request.timeout.count
        set(CURLOPT_TIMEOUT_MS, Int(timeout))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(timeout, connectTimeout)))
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, lowSpeedTime)
        set(CURLOPT_MAXLIFETIME_CONN, connectionLifetime)
        set(CURLOPT_PIPEWAIT, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        // Time-outs by signals would reach the whole process.
        set(CURLOPT_NOSIGNAL, 1)
        // A name server that does not answer holds a thread; do not let the loop wait for that thread.
        set(CURLOPT_QUICK_EXIT, 1)
        return isAccepted
    }
}
