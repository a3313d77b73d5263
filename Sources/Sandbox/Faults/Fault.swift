/// What goes wrong, on purpose, with the answer to a request.
enum Fault: Sendable {
    /// Another status, with a body of its own.
    case status(Int, body: [UInt8], contentType: String?, headers: [Request.Pair])
    /// The true answer, late; the wait itself stands in `ScriptedFault`.
    case delay
    /// Never goes on from `at`, until the peer closes.
    case hang(at: Place)
    /// The answer a few bytes at a time.
    case drip(at: Place, bytes: Int, interval: Int64)
    /// RST instead of the rest of the answer.
    case reset(at: Place)
    /// Half of the body; `claimsWhole`: `Content-Length` says that there is more.
    case truncated(claimsWhole: Bool)
    /// A body of so many bytes; `declared`: with its `Content-Length`.
    case huge(bytes: Int, declared: Bool)
    case wrongType(WrongType)
    case redirect(status: Int, location: String)
    case retryAfter(status: Int, wait: RetryAfter)
    /// 200 and a sign-in page, as a network that wants a click first answers (captive portal).
    case html
    /// A status without a body.
    case empty(status: Int)
    /// The true answer behind that many bytes of header fields, `line` bytes each.
    case headers(bytes: Int, line: Int)

    /// Where in the answer it happens.
    enum Place: String, CaseIterable, Sendable {
        /// Before the first byte.
        case start
        /// Within the header section.
        case headers
        /// Within the body.
        case body
    }

    enum WrongType: String, CaseIterable, Sendable {
        /// The true JSON, called text/html.
        case jsonAsHTML = "json_as_html"
        /// A page, called application/json.
        case htmlAsJSON = "html_as_json"
    }

    enum RetryAfter: Sendable {
        case seconds(Int64)
        /// An HTTP-date that many seconds from the stand-in's now.
        case dateIn(seconds: Int64)
        /// The text as it is, sensible or not.
        case text(String)
    }

    /// Whether the request is not carried out either: an error in place of the answer, or silence from the beginning.
    ///
    /// With any other fault it is carried out, and only the answer suffers.
    var isRefusal: Bool {
        switch self {
        case .status(let status, _, _, _), .empty(let status): status >= 400
        case .retryAfter, .redirect, .html, .hang(at: .start): true
        default: false
        }
    }

    /// The word by which it is scripted and journalled.
    var name: String {
        switch self {
        case .status: "status"
        case .delay: "delay"
        case .hang: "hang"
        case .drip: "drip"
        case .reset: "reset"
        case .truncated: "truncated"
        case .huge: "huge"
        case .wrongType: "wrong_type"
        case .redirect: "redirect"
        case .retryAfter: "retry_after"
        case .html: "html"
        case .empty: "empty"
        case .headers: "headers"
        }
    }

    static let names = [
        "status", "delay", "hang", "drip", "reset", "truncated", "huge", "wrong_type", "redirect",
        "retry_after", "html",
        "empty", "headers",
    ]
}

/// A fault with the requests that it is meant for.
struct ScriptedFault: Sendable {
    let fault: Fault
    /// The route that it waits on; nil: any route of its owner.
    let route: String?
    /// How many more requests it applies to; nil: for ever.
    var remaining: Int64?
    /// Milliseconds to wait before anything of it happens.
    let delay: Int64
}

/// The faults of one owner, in the order in which they were scripted.
struct FaultQueue: Sendable {
    private(set) var faults: [ScriptedFault] = []
    static let limit = 1000

    mutating func append(_ more: [ScriptedFault]) throws(ControlFailure) {
        guard faults.count + more.count <= Self.limit else {
            throw .tooMany(key: "faults", highest: Self.limit)
        }
        faults += more
    }

    /// The first fault that waits for `route`, spent by one.
    mutating func take(route: String) -> ScriptedFault? {
        guard let index = faults.firstIndex(where: { $0.route == nil || $0.route == route }) else {
            return nil
        }
        let fault = faults[index]
        if let remaining = fault.remaining {
            faults[index].remaining = remaining - 1
            if remaining <= 1 { faults.remove(at: index) }
        }
        return fault
    }
}
