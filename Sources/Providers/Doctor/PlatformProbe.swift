package import CredentialCore
import Secrets

/// The cheapest request to a platform: it makes nothing, and no token goes along.
package enum PlatformProbe {
    /// What came of it.
    package struct Answer: Equatable, Sendable {
        /// The status of the answer.
        package let status: Int
        /// What that means, where it means more than that somebody is there.
        package let finding: Finding?
    }

    /// Makes the request: one that leads to a route which is used, with nothing in it that could be carried out.
    ///
    /// At Kindly a bind of nothing to no chat; at Chatbase a list of one conversation; at social.plus a session without a token;
    /// where only one request is described, a look at its address.
    ///
    /// - Throws: `sourceUnavailable` when what is configured makes no URL.
    package static func request(
        _ platform: PlatformDefinition, device: DeviceID?
    ) throws(RefreshFailure) -> PlatformRequest {
        switch platform {
        case .kindly(let bot):
            return PlatformRequest(
                url: try PlatformWire.url(bot.baseURL, bot.bindPath), method: .post,
                headers: [
                    ("kindly-bot-key", PlatformWire.bytes(bot.botKey)),
                    ("Content-Type", SecretBytes("application/json")),
                ], body: SecretBytes("{}"))
        case .chatbase(let agent):
            guard let segment = PlatformWire.segment(agent.agentID) else {
                throw RefreshFailure(.sourceUnavailable)
            }
            return PlatformRequest(
                url: try PlatformWire.url(agent.baseURL, "agents/" + segment + "/conversations?limit=1"),
                method: .get,
                headers: device.map { ChatbaseRequests.headers(device: $0, stored: nil) } ?? [])
        case .socialPlus(let network):
            return PlatformRequest(
                url: try PlatformWire.url(network.baseURL, network.verifyPath), method: .get, headers: [])
        case .described(let bind): return PlatformRequest(url: bind.url, method: .get, headers: [])
        }
    }

    /// Reads the answer: a 404 is the one that says more than that somebody is there.
    package static func read(_ response: FetchResponse, of platform: PlatformDefinition) -> Answer {
        guard response.status == 404 else { return Answer(status: response.status, finding: nil) }
        if case .chatbase = platform, isUnknownAgent(response) {
            return Answer(
                status: 404,
                finding: Finding(
                    .error, .agentNotFound, "Chatbase does not know the agent, or it is not open to SDKs",
                    fix: "check agent_id, and that the agent is deployed to the SDK channel", requirement: 85)
            )
        }
        return Answer(status: 404, finding: pathUnknown(platform))
    }

    private static func isUnknownAgent(_ response: FetchResponse) -> Bool {
        do throws(RefreshFailure) {
            _ = try ChatbaseAnswer.read(response)
            return false
        } catch {
            return error.providerCode == "AGENT_NOT_FOUND"
        }
    }

    private static func pathUnknown(_ platform: PlatformDefinition) -> Finding {
        let (severity, fix): (Finding.Severity, String)
        switch platform {
        case .kindly: (severity, fix) = (.warning, "check base_url and bot_key")
        case .chatbase: (severity, fix) = (.warning, "check base_url: it ends where agents/ begins")
        case .socialPlus: (severity, fix) = (.warning, "check region or base_url, and verify_path")
        // It may answer so to a GET, and still take what is described.
        case .described: (severity, fix) = (.hint, "check the url of the table bind")
        }
        return Finding(
            severity, .platformPathUnknown,
            "the platform is reached, yet answers 404 to a route that it should have: its base URL or path looks wrong",
            fix: fix)
    }
}
