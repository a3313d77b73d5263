import ChatAuthAPI
import CredentialCore
import JSON

/// `session.*`.
extension RPCServer {
    func sessionLogin(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionLoginWithAccessToken(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionLogout(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionSecureLogout(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionState(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionRenew(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }

    func sessionReport(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "socialplus")
    }
}
