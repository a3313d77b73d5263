import ChatAuthAPI
import Secrets

/// The command line tool.
package enum Tool {
    /// What `--version` prints.
    package static let version: StaticString = "0.1.0"

    /// Does what the arguments ask for; returns the exit status.
    package static func run(_ surroundings: Surroundings) -> Int32 {
        do throws(Failure) {
            switch try Invocation.parse(surroundings) {
            case .command(let invocation):
                try Session(invocation: invocation, surroundings: surroundings).run()
            case .help(let command):
                try Output.write(Help.text(command))
            case .groupHelp(let group):
                try Output.write(Help.text(group))
            case .version:
                var text = SecretBuffer()
                text.append("chatauth ")
                text.append(version)
                text.append("\n")
                try Output.write(text)
            case .page(let page):
                try Output.write(page.text())
            }
            try Output.close()
            return ExitStatus.done.rawValue
        } catch {
            Output.report(error)
            return error.exit
        }
    }
}

extension Session {
    fileprivate func run() throws(Failure) {
        switch invocation.command {
        case .getToken: try getToken()
        case .headers: try headers()
        case .exec: try execute()
        case .save: try save()
        case .reject: try reject()
        case .status: try status()
        case .doctor: try doctor()
        case .watch: try watch()
        case .call: try callAny()
        case .accountAdd: try addAccount()
        case .accountList: try list(.accounts)
        case .accountShow: try show(.accountShow)
        case .accountCheck: try check()
        case .accountRemove: try act(.accountRemove)
        case .accountStart: try act(.accountStart)
        case .accountStop: try act(.accountStop)
        case .authAuthenticate: try give(.authAuthenticate)
        case .identityIdentify: try give(.identityIdentify, token: .optional)
        case .identitySwitch: try give(.identitySwitch, token: .required)
        case .identityLogout: try act(.identityLogout)
        case .identityState: try show(.identityState)
        case .identityReport: try give(.identityReport)
        case .sessionLogin: try give(.sessionLogin)
        case .sessionLoginWithAccessToken:
            try give(.sessionLoginWithAccessToken, token: .required, named: "access_token")
        case .sessionLogout: try act(.sessionLogout)
        case .sessionSecureLogout: try act(.sessionSecureLogout)
        case .sessionRenew: try give(.sessionRenew)
        case .sessionState: try show(.sessionState)
        case .sessionReport: try give(.sessionReport, second: "code")
        case .chatID: try printMember("chat_id", of: .chatID)
        case .chatAttach: try give(.chatAttach, token: .optional, second: "chat_id")
        case .chatReset: try printMember("chat_id", of: .chatReset)
        case .deviceID: try printMember("device_id", of: .deviceID)
        case .deviceReset: try printMember("device_id", of: .deviceReset)
        case .authRefresh: try refresh()
        case .authDeauthenticate: try act(.authDeauthenticate)
        case .grantImport: try importGrant()
        case .handlerList: try list(.handlers)
        case .grantList: try list(.grants)
        case .grantDelete: try deleteGrant()
        case .secretSet: try setSecret()
        case .secretList: try list(.secrets)
        case .secretDelete: try deleteSecret()
        case .storeStatus: try show(.storeStatus)
        case .storeUnseal: try unseal()
        case .metrics: try metrics()
        case .reload: try act(.daemonReload)
        case .help: try explain()
        }
    }
}
