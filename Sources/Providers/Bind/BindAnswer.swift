package import CredentialCore
import JSON
import Secrets

/// What a platform answered to a request that binds a credential.
package struct BindAnswer: Equatable, Sendable {
    /// Until when it holds, over all tokens that were verified (R35); absent: the platform did not say.
    package let expiry: ExpiryReading

    /// What Kindly says, in whatever envelope, where a companion stands beside an opaque ID token (R16).
    static let companionText = "X-Access-Token requires a JWT id_token in Authorization"

    /// Reads the answer; `expiryField` names the member that says until when it holds, and a dot descends.
    ///
    /// It is looked for below `data` as well, since the form of Kindly's answer is not known. Seconds, milliseconds, fractions, texts of
    /// digits and RFC 3339 are understood; what is no moment counts as unknown.
    ///
    /// - Throws: `rejected` for one of `refusals`, or `companionInvalid` where it says so; `malformed` for a 2xx that is neither empty nor JSON;
    ///   `upstreamError` for every other status and for pages, which are not the platform's word.
    package static func read(
        _ response: FetchResponse, expiryField: String?, refusals: [Int] = BindDefinition.usualRefusals
    ) throws(RefreshFailure) -> BindAnswer {
        guard (200..<300).contains(response.status) else { throw failure(response, refusals) }
        guard !response.isPage else { throw RefreshFailure(.upstreamError, httpStatus: response.status) }
        let expiry: ExpiryReading? = response.body.withSpan { bytes in
            guard !bytes.isEmpty else { return .absent }
            var document = JSONDocument(limits: JSONLimits(length: 1 << 20, depth: 32))
            guard let root = try? document.parse(bytes) else { return nil }
            guard let expiryField, root.kind == .object else { return .absent }
            return reading(expiryField, in: root)
        }
        guard let expiry else { throw RefreshFailure(.malformed, httpStatus: response.status) }
        return BindAnswer(expiry: expiry)
    }

    private static func failure(_ response: FetchResponse, _ refusals: [Int]) -> RefreshFailure {
        let kind: RefreshFailure.Kind
        if !refusals.contains(response.status) || response.isPage {
            kind = .upstreamError
        } else if ErrorText.read(response)?.hasPrefix(companionText) == true {
            kind = .companionInvalid
        } else {
            kind = .rejected
        }
        return RefreshFailure(
            kind, httpStatus: response.status, providerCode: response.errorCode,
            retryAfter: response.retryAfter)
    }

    private static func reading(_ path: String, in root: borrowing JSONValue) -> ExpiryReading {
        if let value = find(path, in: root) {
            let reading = ExpiryReading.expiresAt(value)
            if reading != .absent { return reading }
        }
        guard let data = root.member("data"), data.kind == .object, let value = find(path, in: data) else {
            return .absent
        }
        return ExpiryReading.expiresAt(value)
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
