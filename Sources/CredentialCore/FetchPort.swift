package import Secrets

/// The methods that are spoken (RFC 9110 §9).
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"

    /// Whether a request with it may have content; where it may, one without any still says that its length is zero.
    package var takesBody: Bool {
        switch self {
        case .post, .put, .patch: true
        case .get, .delete: false
        }
    }
}

extension HTTPSource.Method {
    /// The same for any request.
    package var http: HTTPMethod {
        switch self {
        case .get: .get
        case .post: .post
        }
    }
}

/// One HTTP request for the fetch worker.
package struct FetchRequest: Sendable {
    /// Comes back with the outcome.
    package let id: UInt64
    /// Where it goes.
    package let url: HTTPURL
    /// How it goes there.
    package let method: HTTPMethod
    /// Names are tokens, values have no CR, LF or NUL; both are checked again in the worker.
    package let headers: [(name: String, value: SecretBytes)]
    /// What is sent; nil: nothing.
    package let body: SecretBytes?
    /// PEM certificates that are trusted instead of the system's.
    package let caFile: String?
    /// The proxy; nil: none, whatever the environment says.
    package let proxy: String?
    /// One attempt in all.
    package let timeout: Milliseconds
    /// Bytes of the body that are wanted at most.
    package let bodyLimit: Int
    /// Requests with equal partitions may share connections, others never do.
    package let partition: String

    /// Takes the parts.
    package init(
        id: UInt64, url: HTTPURL, method: HTTPMethod, headers: [(name: String, value: SecretBytes)],
        body: SecretBytes?, caFile: String?, proxy: String?, timeout: Milliseconds, bodyLimit: Int,
        partition: String
    ) {
        self.id = id
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
        self.bodyLimit = bodyLimit
        self.partition = partition
    }
}

/// What came back from the network, unread.
package struct FetchResponse: Sendable {
    /// The status code.
    package let status: Int
    /// Seconds, or a date already turned into seconds from the answer's own `Date` (or from now).
    package let retryAfter: Milliseconds?
    /// The origin's clock, from its `Date` header (RFC 9110 §6.6.1).
    package let date: WallTime?
    /// The media type, as sent.
    package let contentType: String?
    /// The body, at most what was asked for.
    package let body: SecretBytes

    /// Takes the parts.
    package init(
        status: Int, retryAfter: Milliseconds?, date: WallTime?, contentType: String?, body: SecretBytes
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.date = date
        self.contentType = contentType
        self.body = body
    }
}

/// Why there is no response.
package enum FetchFailure: String, Error, Sendable, CaseIterable {
    case nameNotResolved = "name_not_resolved"
    case connectionFailed = "connection_failed"
    case connectionLost = "connection_lost"
    /// It was sent, or may have been, and no whole answer came in time.
    case timeout
    /// No connection came about in time: nothing was sent.
    case connectTimeout = "connect_timeout"
    case certificateExpired = "certificate_expired"
    case certificateWrongHost = "certificate_wrong_host"
    case certificateUntrusted = "certificate_untrusted"
    case tlsFailed = "tls_failed"
    case caFileUnreadable = "ca_file_unreadable"
    case proxyFailed = "proxy_failed"
    case tooLarge = "too_large"
    case badRequest = "bad_request"
    case malformedResponse = "malformed_response"
    /// The worker ended, or does not answer.
    case workerLost = "worker_lost"
    /// There was no fetch worker that it could be given to.
    case workerNotStarted = "worker_not_started"
    case tooManyRequests = "too_many_requests"

    /// Whether the request may have reached the server: what it was to spend may be spent.
    package var mayHaveArrived: Bool {
        switch self {
        case .connectionLost, .timeout, .tooLarge, .malformedResponse, .workerLost: true
        case .nameNotResolved, .connectionFailed, .connectTimeout, .certificateExpired, .certificateWrongHost,
            .certificateUntrusted, .tlsFailed, .caFileUnreadable, .proxyFailed, .badRequest, .tooManyRequests,
            .workerNotStarted:
            false
        }
    }
}

/// The fetch worker as the broker sees it, from the loop.
package protocol FetchPort: AnyObject {
    /// Sends a request; its outcome comes later, on the loop, exactly once, at the latest a second after its time-out.
    func fetch(_ request: FetchRequest)
    /// Gives a request up; no outcome comes any more.
    func cancel(_ id: UInt64)
}

/// Whoever asked the fetch worker.
package protocol FetchObserver: AnyObject {
    func fetchDidEnd(_ id: UInt64, _ outcome: Result<FetchResponse, FetchFailure>)
}

/// Reads files that configuration refers to, off the loop.
package protocol FilePort: AnyObject {
    /// Reads them all, in the order given; the outcome comes later, on the loop, exactly once.
    func read(_ id: UInt64, _ references: [SecretReference])
}

/// Whoever asked for files.
package protocol FileObserver: AnyObject {
    func filesDidEnd(_ id: UInt64, _ outcome: Result<[SecretBytes], FileFailure>)
}

/// Why a referenced file was not read; `index` says which.
package enum FileFailure: Error, Equatable, Sendable {
    case missing(index: Int)
    /// Not a regular file, a link, open to others, or somebody else's.
    case unsafe(index: Int)
    case tooLarge(index: Int)
    case unreadable(index: Int, code: Int32)
}
