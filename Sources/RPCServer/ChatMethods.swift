import ChatAuthAPI
import CredentialCore
import JSON

/// `chat.*`.
extension RPCServer {
    func chatID(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "kindly")
    }

    func chatAttach(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "kindly")
    }

    func chatReset(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        throw wrongProvider(call, account, "kindly")
    }
}
