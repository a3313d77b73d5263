package import CredentialCore
import JSON
import Secrets

/// What a platform answered to a request that binds a credential.
package struct BindAnswer: Equatable, Sendable {
    /// Until when it holds, over all tokens that were verified (R35); absent: the platform did not say.
    package let expiry: ExpiryReading
    /// Why that is not known although it should be; nil: it is known, or nobody promised it.
    package let flaw: ExpiryFlaw?
    /// What the platform's clock said when it answered.
    let date: WallTime?

    /// Why an answer does not say until when it holds.
    package enum ExpiryFlaw: String, Sendable {
        /// What it says is no moment.
        case implausible
        /// The member that was described is not in it.
        case missing
    }

    /// Until when it holds by this machine's clock, which says `now`; nil: that is not known.
    ///
    /// What is over by our clock and not by the platform's own is moved by the difference: it judges by its own.
    package func end(at now: WallTime) -> WallTime? {
        guard let end = expiry.moment else { return nil }
        guard end <= now, let date, date < end else { return end }
        return now + (end - date)
    }

    /// What Kindly says, in whatever envelope, where a companion stands beside an opaque ID token (R16).
    static let companionText = "X-Access-Token requires a JWT id_token in Authorization"

    /// Reads the answer; `expiryField` names the member that says until when it holds, and a dot descends.
    ///
    /// It is looked for below `data` as well, since the form of Kindly's answer is not known. Seconds, milliseconds, fractions, texts of
    /// digits and RFC 3339 are understood; what is no moment counts as unknown. Where a chat is bound to, an answer may say that the
    /// platform does not know it, or not its token: the cause of the failure is then `chatUnknown`.
    ///
    /// - Throws: `rejected` for one of `refusals`, or `companionInvalid` where it says so; `malformed` for a 2xx that is neither empty nor JSON;
    ///   `upstreamError` for every other status and for pages, which are not the platform's word.
    package static func read(
        _ response: FetchResponse, expiryField: String?, refusals: [Int] = BindDefinition.usualRefusals,
        ofChat hasChat: Bool = false
    ) throws(RefreshFailure) -> BindAnswer {
        guard (200..<300).contains(response.status) else { throw failure(response, refusals, hasChat) }
        guard !response.isPage else { throw RefreshFailure(.upstreamError, httpStatus: response.status) }
        let found: (expiry: ExpiryReading, isThere: Bool)? = response.body.withSpan { bytes in
            guard !bytes.isEmpty else { return (.absent, false) }
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes) else { return nil }
            guard let expiryField, root.kind == .object else { return (.absent, false) }
            return reading(expiryField, in: root)
        }
        guard let found else { throw RefreshFailure(.malformed, httpStatus: response.status) }
        // Of Kindly's answer nobody has promised that it says anything.
        let isMissing = expiryField != nil && !hasChat && !found.isThere
        return BindAnswer(
            expiry: found.expiry,
            flaw: found.expiry == .implausible ? .implausible : isMissing ? .missing : nil,
            date: response.date)
    }

    private static func failure(
        _ response: FetchResponse, _ refusals: [Int], _ hasChat: Bool
    ) -> RefreshFailure {
        let kind: RefreshFailure.Kind
        let isChats = hasChat && !response.isPage && isOfChat(response)
        if !refusals.contains(response.status) || response.isPage || isChats {
            kind = .upstreamError
        } else if ErrorText.read(response)?.hasPrefix(companionText) == true {
            kind = .companionInvalid
        } else {
            kind = .rejected
        }
        return RefreshFailure(
            kind, httpStatus: response.status, providerCode: response.errorCode,
            retryAfter: response.retryAfter, cause: isChats ? .chatUnknown : nil)
    }

    // A 401 is said of the user's token, unless the header of the chat's is named.
    private static func isOfChat(_ response: FetchResponse) -> Bool {
        switch response.status {
        case 403, 404: true
        case 401:
            ErrorText.read(response)?.lowercased().split { !$0.isLetter }.contains("chatbubble") == true
        default: false
        }
    }

    private static func reading(
        _ path: String, in root: borrowing JSONValue
    ) -> (expiry: ExpiryReading, isThere: Bool) {
        var isThere = false
        if let value = find(path, in: root) {
            isThere = true
            let reading = ExpiryReading.expiresAt(value)
            if reading != .absent { return (reading, true) }
        }
        guard let data = root.member("data"), data.kind == .object, let value = find(path, in: data) else {
            return (.absent, isThere)
        }
        return (ExpiryReading.expiresAt(value), true)
    }

    @_lifetime(copy root)
    private static func find(_ path: String, in root: borrowing JSONValue) -> JSONValue? {
        if let value = root.member(named: path) { return value }
        guard let dot = path.firstIndex(of: "."), let parent = root.member(named: String(path[..<dot])),
            parent.kind == .object
        else { return nil }
        return find(String(path[path.index(after: dot)...]), in: parent)
    }
}
