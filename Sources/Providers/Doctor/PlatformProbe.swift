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

    /// Makes the request: a list of one conversation where the platform gives lists to a device, else whatever is at its base.
    ///
    /// - Throws: `sourceUnavailable` when what is configured makes no URL.
    package static func request(
        _ platform: PlatformDefinition, device: DeviceID?
    ) throws(RefreshFailure) -> PlatformRequest {
        switch platform {
        case .kindly(let bot): return PlatformRequest(url: bot.baseURL, method: .get, headers: [])
        case .chatbase(let agent):
            guard let device, let segment = PlatformWire.segment(agent.agentID) else {
                return PlatformRequest(url: agent.baseURL, method: .get, headers: [])
            }
            return PlatformRequest(
                url: try PlatformWire.url(agent.baseURL, "agents/" + segment + "/conversations?limit=1"),
                method: .get, headers: ChatbaseRequests.headers(device: device, stored: nil))
        case .socialPlus(let network):
            return PlatformRequest(
                url: try PlatformWire.url(network.baseURL, network.verifyPath), method: .get, headers: [])
        case .described(let bind): return PlatformRequest(url: bind.url, method: .get, headers: [])
        }
    }

    /// Reads the answer: its code counts where it says that the agent is not there.
    package static func read(_ response: FetchResponse, of platform: PlatformDefinition) -> Answer {
        guard case .chatbase = platform else { return Answer(status: response.status, finding: nil) }
        do throws(RefreshFailure) {
            _ = try ChatbaseAnswer.read(response)
            return Answer(status: response.status, finding: nil)
        } catch {
            guard error.providerCode == "AGENT_NOT_FOUND" else {
                return Answer(status: response.status, finding: nil)
            }
        }
        return Answer(
            status: response.status,
            finding: Finding(
                .error, .agentNotFound, "Chatbase does not know the agent, or it is not open to SDKs",
                fix: "check agent_id, and that the agent is deployed to the SDK channel", requirement: 85))
    }
}
