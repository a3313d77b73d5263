import CCurl
import CLinux
import CredentialCore
import EventLoop

/// One set of connections, of one partition, driven by the loop.
///
/// libcurl matches connections by many options and has been wrong about it more than once; what is in different pools cannot meet.
final class CurlPool {
    private let multi: UnsafeMutableRawPointer
    private let loop: EventLoop
    private let clock: any Clock
    private var sockets: [Int32: DescriptorWatch] = [:]
    private var timer: LoopTimer?
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private let didFinish: (CurlTransfer, CURLcode) -> Void
    private static let keptConnections = 8

    /// When it was last used.
    var usedAt: BootTime

    /// An empty pool; `didFinish` gets each transfer that ended, called from outside of libcurl.
    init?(
        loop: EventLoop, clock: any Clock, didFinish: @escaping (CurlTransfer, CURLcode) -> Void
    ) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.loop = loop
        self.clock = clock
        self.didFinish = didFinish
        usedAt = clock.now.boot
        let context = Unmanaged.passUnretained(self).toOpaque()
        timer = try? loop.makeTimer { [unowned self] in self.act(CURL_SOCKET_TIMEOUT, 0) }
        guard timer != nil,
            cc_multi_set_callbacks(
                multi,
                { _, socket, what, context, _ in CurlPool.from(context)?.watch(socket, what) ?? -1 },
                { _, milliseconds, context in CurlPool.from(context)?.setTimer(milliseconds) ?? -1 },
                context) == CURLM_OK,
            cc_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.keptConnections) == CURLM_OK,
            cc_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)) == CURLM_OK
        else { return nil }
    }

    deinit {
        // No callback may find an object that is about to end.
        cc_multi_set_callbacks(multi, nil, nil, nil)
        sockets = [:]
        for easy in transfers.keys { curl_multi_remove_handle(multi, easy) }
        transfers = [:]
        curl_multi_cleanup(multi)
    }

    var isIdle: Bool { transfers.isEmpty }

    /// False when libcurl does not take it.
    func add(_ transfer: CurlTransfer) -> Bool {
        transfers[transfer.easy] = transfer
        guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
            transfers[transfer.easy] = nil
            return false
        }
        return true
    }

    func remove(_ transfer: CurlTransfer) {
        guard transfers.removeValue(forKey: transfer.easy) != nil else { return }
        curl_multi_remove_handle(multi, transfer.easy)
    }

    // The pool outlives the multi handle, which is freed in `deinit`.
    private static func from(_ context: UnsafeMutableRawPointer?) -> CurlPool? {
        context.map { Unmanaged<CurlPool>.fromOpaque($0).takeUnretainedValue() }
    }

    private func act(_ socket: curl_socket_t, _ ready: Int32) {
        withExtendedLifetime(self) {
            var running: Int32 = 0
            curl_multi_socket_action(multi, socket, ready, &running)
            var ended: [(CurlTransfer, CURLcode)] = []
            var easy: UnsafeMutableRawPointer?
            var code = CURLE_OK
            while cc_next_done(multi, &easy, &code) == 1 {
                guard let easy, let transfer = transfers.removeValue(forKey: easy) else { continue }
                ended.append((transfer, code))
            }
            for (transfer, _) in ended { curl_multi_remove_handle(multi, transfer.easy) }
            for (transfer, code) in ended { didFinish(transfer, code) }
        }
    }

    private func watch(_ socket: curl_socket_t, _ what: Int32) -> Int32 {
        guard what != CURL_POLL_REMOVE else {
            sockets[socket] = nil
            return 0
        }
        let events =
            (what & CURL_POLL_IN != 0 ? Readiness.readable : 0)
            | (what & CURL_POLL_OUT != 0 ? Readiness.writable : 0)
        if let watch = sockets[socket] {
            watch.setEvents(events)
            return 0
        }
        let watch = try? loop.watch(socket, events: events) { [unowned self] ready in
            var bits: Int32 = 0
            if ready & Readiness.readable != 0 { bits |= CURL_CSELECT_IN }
            if ready & Readiness.writable != 0 { bits |= CURL_CSELECT_OUT }
            // An error or a hang-up, which nobody has to ask for.
            if ready & ~(Readiness.readable | Readiness.writable) != 0 { bits |= CURL_CSELECT_ERR }
            self.act(socket, bits)
        }
        guard let watch else { return -1 }
        sockets[socket] = watch
        return 0
    }

    private func setTimer(_ milliseconds: Int) -> Int32 {
        if milliseconds < 0 {
            timer?.cancel()
        } else {
            timer?.set(bootMilliseconds: (clock.now.boot + Milliseconds(Int64(milliseconds))).milliseconds)
        }
        return 0
    }
}
