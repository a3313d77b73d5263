import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers

/// `device.*`: the install as platforms know it.
extension RPCServer {
    func deviceID(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try deviceAccount(parameters, call, needs: .use)
        broker.withDevice(of: account) { [unowned self] in answerDevice(call, account, $0) }
    }

    func deviceReset(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try deviceAccount(parameters, call, needs: .operate)
        // Whoever makes a new install makes it for all who are that one.
        for other in broker.accountsSharingDevice(with: account)
        where role(of: call.client, on: other).map({ $0 < .operate }) ?? true {
            throw CallFailure(
                .permissionDenied, "other accounts share this device, and you may not operate all of them")
        }
        broker.resetDevice(of: account) { [unowned self] in answerDevice(call, account, $0) }
    }

    private func deviceAccount(
        _ parameters: borrowing Parameters, _ call: Call, needs: Role
    ) throws(CallFailure) -> Account {
        let (account, _) = try account(parameters, call, needs: needs)
        try requireOpenStore()
        switch account.definition.platform {
        case .chatbase, .socialPlus: return account
        case .kindly, .described, nil: throw wrongProvider(call, account, "chatbase or socialplus")
        }
    }

    private func answerDevice(_ call: Call, _ account: Account, _ outcome: Result<DeviceID, StoreFailure>) {
        answerStored(call, account, outcome) { device, writer in
            writer.key("device_id")
            writer.string(device.text)
        }
    }
}
