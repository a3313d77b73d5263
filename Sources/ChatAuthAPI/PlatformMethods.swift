/// The methods that only accounts at chat platforms have.
extension Method {
    var platformDescription: Description {
        switch self {
        case .identityIdentify:
            Description(
                access: .operate, summary: "have the platform verify a token and sign its user in",
                parameters: [
                    .account, .text("token", "the identity token; the source is asked for one if absent"),
                    .number("wait", "as in token.get"),
                ])
        case .identityLogout:
            Description(
                access: .operate, summary: "drop the identity; nothing is sent anywhere",
                parameters: [.account])
        case .identitySwitch:
            Description(
                access: .operate, summary: "sign another user in, or leave everything as it was",
                parameters: [
                    .account, .text("token", "the identity token of the other user", isRequired: true),
                ])
        case .identityState:
            Description(
                access: .use, summary: "answer who is signed in, and on which device", parameters: [.account])
        case .identityReport:
            Description(
                access: .operate, summary: "tell what the platform said to the chatting client",
                parameters: [
                    .account, .text("user_id", "whom the last finished reply was for"),
                    .text("conversation_id", "which conversation is open"),
                ])
        case .sessionLogin:
            Description(
                access: .operate, summary: "log a user in to the platform",
                parameters: [
                    .account, .text("user_id", "who; the configured user if absent"),
                    .text("display_name", "the name in the profile"),
                    .text("auth_token", "the short-lived token; handler or source are asked if absent"),
                    .number("wait", "as in token.get"),
                ])
        case .sessionLoginWithAccessToken:
            Description(
                access: .operate, summary: "log in with an access token that the customer's backend issued",
                parameters: [
                    .account, .text("access_token", "a JWT with userId", isRequired: true),
                    .number("wait", "as in token.get"),
                ])
        case .sessionLogout:
            Description(
                access: .operate, summary: "end the session here", parameters: [.account])
        case .sessionSecureLogout:
            Description(
                access: .operate,
                summary: "have the platform revoke the session, and end it here only when it has",
                parameters: [.account])
        case .sessionState:
            Description(
                access: .use, summary: "answer how the session is, and why it is not renewed",
                parameters: [.account])
        case .sessionRenew:
            Description(
                access: .operate, summary: "renew now, or give the token that a renewal waits for",
                parameters: [
                    .account, .text("renewal_id", "which renewal the token is for"),
                    .text("auth_token", "a fresh auth token"),
                    .text("access_token", "a fresh access token"),
                    .flag("unable", "there is no token to be had now"),
                ])
        case .sessionReport:
            Description(
                access: .operate, summary: "tell which error code the platform answered to a client",
                parameters: [.account, .number("code", "the platform's code", isRequired: true)])
        case .chatID:
            Description(
                access: .use, summary: "answer the chat's id; there is always one", parameters: [.account])
        case .chatAttach:
            Description(
                access: .operate,
                summary: "take a chat that a client has made, and bind the credential to it",
                parameters: [
                    .account, .text("chat_id", "the chat's id", isRequired: true),
                    .text("token", "the chat's own token, from the platform's answer to connect"),
                ])
        case .chatReset:
            Description(
                access: .operate, summary: "begin another chat; the old one's history stays behind",
                parameters: [.account])
        case .deviceID:
            Description(
                access: .use, summary: "answer the device's id; made when it is first needed",
                parameters: [.account])
        case .deviceReset:
            Description(
                access: .operate, summary: "make another device id, as a new install would",
                parameters: [.account])
        default: preconditionFailure("\(rawValue) is described in the main table")
        }
    }
}
