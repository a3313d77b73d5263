package import CredentialCore
import JSON

/// What Kindly answered to `connect`: the chat as the server knows it.
package enum KindlyConnectAnswer {
    /// Reads the answer; `chat` is the one that the request named.
    ///
    /// The server's name for the chat counts where it says one, and its token from now on.
    ///
    /// - Throws: `malformed` for a 2xx without a token, or with a name or a token that no header can carry; else `upstreamError`, a 401
    ///   as well: no token of ours was shown, so none was refused.
    package static func read(
        _ response: FetchResponse, chat: KindlyChat
    ) throws(RefreshFailure) -> KindlyChat {
        guard (200..<300).contains(response.status), !response.isPage else {
            throw RefreshFailure(
                .upstreamError, httpStatus: response.status, providerCode: response.errorCode,
                retryAfter: response.retryAfter)
        }
        let limits = JSONLimits(length: 1 << 20, depth: 32)
        let found: KindlyChat?? = PlatformWire.withObject(response.body, limits: limits) { root in
            guard let token = root.member("token"), token.kind == .string, let token = token.secret else {
                return nil
            }
            var id = chat.id
            if let name = root.member("chat_id"), !name.isNull {
                guard let text = name.string else { return nil }
                id = text
            }
            return KindlyChat(id: id, token: token)
        }
        guard let chat = found ?? nil else { throw RefreshFailure(.malformed, httpStatus: response.status) }
        return chat
    }
}
