import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Secrets

/// `secret.*`: set once, never read back.
extension RPCServer {
    func secretSet(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let name = try entryName("secret", parameters)
        guard let value = try parameters.secret("value"), !value.isEmpty else {
            throw CallFailure(invalidParams: "value is empty")
        }
        guard value.count <= HeldSecret.valueLimit else {
            throw CallFailure(
                .credentialTooLarge, "value has \(value.count) bytes; \(HeldSecret.valueLimit) are allowed")
        }
        broker.setSecret(name, value, waiter: answerWhenDone(call, name))
    }

    func secretList(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let page = try page(of: broker.secretsByName, parameters) { $0.name.text }
        call.answer { writer in
            writer.beginObject()
            writer.key("secrets")
            writer.beginArray()
            for secret in page.entries {
                writer.beginObject()
                writer.key("secret")
                writer.string(secret.name.text)
                writer.key("generation")
                writer.integer(secret.generation.number)
                writer.moment("set_at", secret.setAt)
                writer.momentText("set_at_text", secret.setAt)
                writer.key("accounts")
                writer.beginArray()
                for account in self.broker.accounts(referringTo: secret.name) { writer.string(account.text) }
                writer.endArray()
                writer.endObject()
            }
            writer.endArray()
            writer.cursor(page.cursor)
            writer.endObject()
        }
    }

    func secretDelete(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        try requireOpenStore()
        let name = try entryName("secret", parameters)
        guard broker.secretsByName.contains(where: { $0.name == name }) else {
            throw CallFailure(invalidParams: "there is no secret \(name)")
        }
        let users = broker.accounts(referringTo: name)
        guard users.isEmpty else {
            let names =
                users.prefix(3).map(\.text).joined(separator: ", ") + (users.count > 3 ? " and others" : "")
            throw CallFailure(
                invalidParams: "the secret \(name) is needed by \(names); change their sources first")
        }
        broker.deleteSecret(name, waiter: answerWhenDone(call, name))
    }

    private func answerWhenDone(_ call: Call, _ name: SecretName) -> WaiterID {
        wait(call) { [unowned self] answer in
            guard case .done = answer else {
                fail(call, answer, nil)
                return
            }
            call.answer { writer in
                writer.beginObject()
                writer.key("secret")
                writer.string(name.text)
                writer.endObject()
            }
        }
    }
}
