import CLinux
package import CredentialCore
package import EventLoop
import Glibc
package import Log
package import Secrets
import WorkerProtocol

/// The machine's clocks, and a loop that is driven by hand.
package final class Driver: Clock {
    package let loop: EventLoop

    package init() throws { loop = try EventLoop() }

    package var now: Instant {
        Instant(
            wall: WallTime(milliseconds: cl_wall_milliseconds()),
            boot: BootTime(milliseconds: cl_boot_milliseconds()))
    }
    package let bootID = BootID("test")

    /// Turns the loop until `condition` holds; false when it does not within `limit`.
    package func turn(within limit: Milliseconds = .seconds(20), until condition: () -> Bool) throws -> Bool {
        let end = now.boot + limit
        while !condition() {
            guard now.boot < end else { return false }
            _ = try loop.runOnce(timeoutMilliseconds: 50)
        }
        return true
    }

    /// Turns the loop for a while.
    package func turn(for length: Milliseconds) throws {
        _ = try turn(within: length) { false }
    }
}

/// Keeps what a fetch port tells, every time that it does.
package final class Outcomes: FetchObserver {
    package private(set) var byID: [UInt64: [Result<FetchResponse, FetchFailure>]] = [:]

    package init() {}

    package func fetchDidEnd(_ id: UInt64, _ outcome: Result<FetchResponse, FetchFailure>) {
        byID[id, default: []].append(outcome)
    }

    package func count(_ id: UInt64) -> Int { byID[id]?.count ?? 0 }
    package func failure(_ id: UInt64) -> FetchFailure? {
        if case .failure(let failure)? = byID[id]?.last { failure } else { nil }
    }
    package func response(_ id: UInt64) -> FetchResponse? {
        if case .success(let response)? = byID[id]?.last { response } else { nil }
    }
}

extension FetchResponse {
    package var bytes: [UInt8] {
        body.withSpan { bytes in bytes.withUnsafeBufferPointer { Array($0) } }
    }
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension FetchRequest {
    /// A GET with everything usual, unless said otherwise.
    package static func test(
        _ id: UInt64, _ url: HTTPURL, method: HTTPMethod = .get,
        headers: [(name: String, value: SecretBytes)] = [], body: SecretBytes? = nil, caFile: String? = nil,
        proxy: String? = nil, timeout: Milliseconds = .seconds(8), bodyLimit: Int = WireLimits.body,
        partition: String = "a"
    ) -> FetchRequest {
        FetchRequest(
            id: id, url: url, method: method, headers: headers, body: body, caFile: caFile, proxy: proxy,
            timeout: timeout, bodyLimit: bodyLimit, partition: partition)
    }
}

/// Writes nothing.
package struct NoLog: LogSink {
    package init() {}
    package func write(_ record: LogRecord) {}
}

/// Programs of this package that were built with the tests.
package enum Programs {
    package static func path(_ name: String) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.lastIndex(of: "/").map { String(own[...$0]) + name } ?? name
    }
}
