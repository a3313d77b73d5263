import ChatAuthAPI

/// The commands that only accounts at chat platforms have.
extension Command {
    var platformDescription: Description {
        switch self {
        case .identityIdentify:
            Description(
                group: "identity", "identify", .account, options: .tokenFile | .wait,
                method: .identityIdentify,
                summary: "have the platform verify an identity token and sign its user in",
                details: """
                    Without --token-file the account's source is asked for a token. Where the platform refuses it, nothing \
                    changes. Conversations of the device move to the user a little later.
                    """)
        case .identitySwitch:
            Description(
                group: "identity", "switch", .account, options: Options(.tokenFile),
                method: .identitySwitch, summary: "sign another user in, or leave everything as it was",
                details: "The token is read from standard input, or from --token-file.")
        case .identityLogout:
            Description(
                group: "identity", "logout", .account, method: .identityLogout,
                summary: "drop the identity; nothing is sent anywhere")
        case .identityState:
            Description(
                group: "identity", "state", .account, method: .identityState,
                summary: "say who is signed in, and on which device")
        case .identityReport:
            Description(
                group: "identity", "report", .account, options: .userID | .conversationID,
                method: .identityReport, summary: "tell what the platform said to the chatting client")
        case .sessionLogin:
            Description(
                group: "session", "login", .account, options: .userID | .displayName | .authTokenFile | .wait,
                method: .sessionLogin, summary: "log a user in to the platform",
                details: """
                    Without --auth-token-file the handler or the source of the account is asked for the auth token. \
                    Without --user-id it is the configured user. Without --wait it is waited for as long as the account's \
                    login_timeout allows.
                    """)
        case .sessionLoginWithAccessToken:
            Description(
                group: "session", "login-with-access-token", .account, options: .tokenFile | .wait,
                method: .sessionLoginWithAccessToken,
                summary: "log in with an access token that the customer's backend issued",
                details: """
                    The token is read from standard input, or from --token-file. Something must be there that gives the \
                    next one: a handler or a source.
                    """)
        case .sessionLogout:
            Description(
                group: "session", "logout", .account, method: .sessionLogout, summary: "end the session here")
        case .sessionSecureLogout:
            Description(
                group: "session", "secure-logout", .account, method: .sessionSecureLogout,
                summary: "have the platform revoke the session, and end it here only when it has",
                details: """
                    A login that is under way is waited for. A session that is parked, because its account is configured for \
                    another destination now, is left as it is: only session logout forgets it.
                    """)
        case .sessionRenew:
            Description(
                group: "session", "renew", .account,
                options: .renewalID | .authTokenFile | .accessTokenFile | .unable, method: .sessionRenew,
                summary: "renew the session now, or give the token that a renewal waits for")
        case .sessionState:
            Description(
                group: "session", "state", .account, method: .sessionState,
                summary: "say how the session is, and why it is not renewed")
        case .sessionReport:
            Description(
                group: "session", "report", .account, Operand(name: "CODE", kind: .text),
                method: .sessionReport, summary: "tell which error code the platform answered to a client")
        case .chatID:
            Description(group: "chat", "id", .account, method: .chatID, summary: "print the chat's id")
        case .chatAttach:
            Description(
                group: "chat", "attach", .account, Operand(name: "CHAT", kind: .text),
                options: Options(.tokenFile), method: .chatAttach,
                summary: "take a chat that a client has made",
                details: """
                    --token-file holds the chat's own token: Kindly's answer to connect has it as token. It is needed for \
                    every chat that a client connected; without it Kindly refuses what is bound with 401, and doctor says \
                    chat_token_missing. It is not needed for the chat that the daemon connected itself, which keeps its own. \
                    The answer says connected where the token is there.
                    """)
        case .chatReset:
            Description(
                group: "chat", "reset", .account, method: .chatReset,
                summary: "begin another chat; the history of this one stays behind")
        case .deviceID:
            Description(group: "device", "id", .account, method: .deviceID, summary: "print the device's id")
        case .deviceReset:
            Description(
                group: "device", "reset", .account, method: .deviceReset,
                summary: "make another device id, as a new install would")
        default: preconditionFailure("described in the main table")
        }
    }
}
