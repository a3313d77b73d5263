import CCurl
package import CredentialCore
package import EventLoop
import Glibc
import WorkerProtocol

/// HTTPS through libcurl, on the loop.
///
/// Requests of different partitions never share a connection, a name that was looked up, or a TLS session: each partition has a pool
/// of its own. Pools without a request are few, and closed when they have not been used for a minute.
package final class CurlTransport: HTTPTransport {
    private let loop: EventLoop
    private let clock: any Clock
    private let userAgent: String
    private var pools: [PoolKey: CurlPool] = [:]
    private var running: [UInt64: (key: PoolKey, transfer: CurlTransfer)] = [:]
    private var refused: [() -> Void] = []
    private var timer: LoopTimer?
    private var idleTimer: LoopTimer?

    private static let idlePools = 16
    private static let idleTime = Milliseconds.seconds(60)

    // libcurl compares the TLS options by itself; that it does is not relied on.
    private struct PoolKey: Hashable {
        let partition: String
        let caFile: String?
        let proxy: String?
    }

    /// Starts libcurl; `version` is what `User-Agent` says behind the name.
    package init(loop: EventLoop, clock: any Clock, version: String) throws(EventLoopFailure) {
        self.loop = loop
        self.clock = clock
        userAgent = "chatauth-fetch/" + version
        // Reads the environment and starts OpenSSL: before anything else uses either.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
            throw EventLoopFailure(code: ENOMEM)
        }
        timer = try loop.makeTimer { [unowned self] in self.tellRefused() }
        idleTimer = try loop.makeTimer { [unowned self] in self.closeIdlePools(unusedFor: Self.idleTime) }
    }

    /// Starts a request in its partition's pool; what libcurl does not take ends as `badRequest`.
    package func begin(
        _ request: FetchRequest, _ completion: @escaping (Result<FetchResponse, FetchFailure>) -> Void
    ) {
        let key = PoolKey(partition: request.partition, caFile: request.caFile, proxy: request.proxy)
        guard running[request.id] == nil,
            let transfer = CurlTransfer(request, userAgent: userAgent, completion),
            let pool = pool(key)
        else { return refuse(completion) }
        running[request.id] = (key, transfer)
        guard pool.add(transfer) else {
            running[request.id] = nil
            return refuse(completion)
        }
    }

    /// Takes a request out of libcurl, with its connection.
    package func cancel(_ id: UInt64) {
        guard let (key, transfer) = running.removeValue(forKey: id) else { return }
        pools[key]?.remove(transfer)
        poolDidRest(key)
    }

    private func pool(_ key: PoolKey) -> CurlPool? {
        if let pool = pools[key] { return pool }
        let pool = CurlPool(loop: loop, clock: clock) { [unowned self] transfer, code in
            self.running[transfer.request.id] = nil
            self.poolDidRest(key)
            transfer.completion(transfer.finish(code, now: self.clock.now.wall))
        }
        pools[key] = pool
        return pool
    }

    private func refuse(_ completion: @escaping (Result<FetchResponse, FetchFailure>) -> Void) {
        refused.append { completion(.failure(.badRequest)) }
        timer?.set(bootMilliseconds: 0)
    }

    private func tellRefused() {
        let told = refused
        refused = []
        for tell in told { tell() }
    }

    // MARK: Idle pools

    private func poolDidRest(_ key: PoolKey) {
        guard let pool = pools[key], pool.isIdle else { return }
        pool.usedAt = clock.now.boot
        let idle = pools.filter { $0.value.isIdle }
        if idle.count > Self.idlePools, let oldest = idle.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            pools[oldest.key] = nil
        }
        idleTimer?.set(bootMilliseconds: (clock.now.boot + Self.idleTime).milliseconds)
    }

    private func closeIdlePools(unusedFor length: Milliseconds) {
        let limit = clock.now.boot - length
        pools = pools.filter { !$0.value.isIdle || $0.value.usedAt > limit }
        if let next = pools.values.filter({ $0.isIdle }).map({ $0.usedAt }).min() {
            idleTimer?.set(bootMilliseconds: (next + length).milliseconds)
        }
    }
}
