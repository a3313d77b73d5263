import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `chat.*`: the chat that Kindly binds a credential to.
extension RPCServer {
    func chatID(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatAccount(parameters, call, needs: .use)
        broker.withChat(of: account) { [unowned self] in answerChat(call, account, $0) }
    }

    func chatAttach(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatAccount(parameters, call, needs: .operate)
        let id = try parameters.text("chat_id", limit: 256) ?? ""
        let token = try parameters.secret("token")
        guard let chat = KindlyChat(id: id, token: token, isAttached: true) else {
            throw CallFailure(
                invalidParams: "chat_id must be 1 to 256 visible ASCII characters, token at most 8192 of them"
            )
        }
        broker.attach(chat, to: account) { [unowned self] in answerChat(call, account, $0) }
    }

    func chatReset(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let account = try chatAccount(parameters, call, needs: .operate)
        broker.resetChat(of: account) { [unowned self] in answerChat(call, account, $0) }
    }

    private func chatAccount(
        _ parameters: borrowing Parameters, _ call: Call, needs: Role
    ) throws(CallFailure) -> Account {
        let (account, _) = try account(parameters, call, needs: needs)
        try requireOpenStore()
        guard case .kindly = account.definition.platform else { throw wrongProvider(call, account, "kindly") }
        return account
    }

    private func answerChat(_ call: Call, _ account: Account, _ outcome: Result<KindlyChat, StoreFailure>) {
        answerStored(call, account, outcome) { chat, writer in
            writer.key("chat_id")
            writer.string(chat.id)
            // Its own token may have come while its name went to the disk.
            let isKnown = account.chat?.id == chat.id ? account.chat?.token != nil : chat.token != nil
            writer.key("connected")
            writer.bool(isKnown)
            writer.key("attached")
            writer.bool(chat.isAttached)
        }
    }

    /// Answers with what had to be on disk first, or with why it is not there.
    func answerStored<Value>(
        _ call: Call, _ account: Account, _ outcome: Result<Value, StoreFailure>,
        _ members: (Value, inout JSONWriter) -> Void
    ) {
        switch outcome {
        case .failure(let failure): call.fail(CallFailure(failure))
        case .success(let value):
            call.answer { writer in
                writer.beginObject()
                writer.key("account")
                writer.string(account.name.text)
                members(value, &writer)
                writer.endObject()
            }
        }
    }
}
