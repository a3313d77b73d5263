import CCurl
import CredentialCore
import Glibc
import Secrets
import WorkerProtocol

/// One request on its way through libcurl.
///
/// The body of the answer goes from libcurl's receive buffer straight into memory that is wiped. The copies that libcurl, OpenSSL and
/// the kernel make while it is on its way are theirs, and are not.
final class CurlTransfer {
    let request: FetchRequest
    let completion: (Result<FetchResponse, FetchFailure>) -> Void
    let easy: UnsafeMutableRawPointer
    private let headers: HeaderList
    private var head = ResponseHead()
    private var body = SecretBuffer()
    private var bytesGiven = 0
    // Why a callback stopped the transfer; libcurl then reports a write error and no more.
    private var refusal: FetchFailure?

    /// Nil when libcurl refuses an option: then nothing is sent without it.
    init?(
        _ request: FetchRequest, userAgent: String,
        _ completion: @escaping (Result<FetchResponse, FetchFailure>) -> Void
    ) {
        guard let easy = curl_easy_init() else { return nil }
        self.request = request
        self.completion = completion
        self.easy = easy
        headers = HeaderList(request)
        guard
            CurlOptions.apply(to: easy, request, userAgent: userAgent),
            cc_set_list(easy, CURLOPT_HTTPHEADER, headers.first) == CURLE_OK,
            cc_set_callbacks(
                easy,
                { bytes, _, count, context in CurlTransfer.from(context)?.takeBody(bytes, count) ?? 0 },
                { bytes, _, count, context in CurlTransfer.from(context)?.takeHeader(bytes, count) ?? 0 },
                { room, size, count, context in
                    CurlTransfer.from(context)?.giveBody(room, size * count) ?? Int(CURL_READFUNC_ABORT)
                },
                Unmanaged.passUnretained(self).toOpaque()) == CURLE_OK
        else { return nil }
    }

    deinit { curl_easy_cleanup(easy) }

    // The transport holds the transfer until it has taken the handle out of libcurl's hands.
    private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func takeHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let isTaken = UnsafeRawBufferPointer(start: bytes, count: count).withMemoryRebound(to: UInt8.self) {
            head.take($0.span)
        }
        guard isTaken else {
            refusal = .tooLarge
            return 0
        }
        return count
    }

    private func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        head.complete()
        guard count <= request.bodyLimit - body.count else {
            refusal = .tooLarge
            return 0
        }
        UnsafeRawBufferPointer(start: bytes, count: count).withMemoryRebound(to: UInt8.self) {
            body.append($0.span)
        }
        return count
    }

    // There is no way back on purpose: libcurl would send a body again where a kept connection turns out to be dead, and what
    // the first one carried may have been spent by then. It reports an error instead, and whoever asked decides.
    private func giveBody(_ room: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int {
        guard let room, let body = request.body else { return 0 }
        return body.withSpan { bytes in
            let count = min(size, bytes.count - bytesGiven)
            bytes.extracting(bytesGiven..<(bytesGiven + count)).withUnsafeBufferPointer {
                if let base = $0.baseAddress { memcpy(room, base, count) }
            }
            bytesGiven += count
            return count
        }
    }

    /// Ends the transfer with libcurl's result.
    func finish(_ code: CURLcode, now: WallTime) -> Result<FetchResponse, FetchFailure> {
        if let refusal { return .failure(refusal) }
        guard code == CURLE_OK else {
            return .failure(failure(code))
        }
        let status = Int64(cc_info_long(easy, CURLINFO_RESPONSE_CODE))
        guard WireLimits.status.contains(status) else { return .failure(.malformedResponse) }
        var taken = SecretBuffer()
        swap(&taken, &body)
        return .success(
            FetchResponse(
                status: Int(status), retryAfter: head.retryDelay(now: now), date: head.originDate(now: now),
                contentType: head.contentType, body: taken.finish()))
    }

    private func failure(_ code: CURLcode) -> FetchFailure {
        let failure = CurlFailure.failure(
            code, verification: cc_info_long(easy, CURLINFO_SSL_VERIFYRESULT),
            proxyVerification: cc_info_long(easy, CURLINFO_PROXY_SSL_VERIFYRESULT))
        // Zero bytes of a request sent: no connection came about, however far the handshake got.
        if failure == .timeout, cc_info_long(easy, CURLINFO_REQUEST_SIZE) == 0 { return .connectTimeout }
        // Behind a proxy, a connection that was never made is the proxy's, as is a tunnel that it refused.
        guard request.proxy != nil, cc_info_long(easy, CURLINFO_RESPONSE_CODE) == 0 else { return failure }
        if failure == .connectionFailed { return .proxyFailed }
        let connect = cc_info_long(easy, CURLINFO_HTTP_CONNECTCODE)
        return connect != 0 && !(200...299).contains(connect) ? .proxyFailed : failure
    }
}
