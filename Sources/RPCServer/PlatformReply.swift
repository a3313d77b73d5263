import Broker
import CredentialCore
import JSON
import Providers

/// What `account.show` and `credentials.inspect` say of an account at its platform.
extension CredentialReply {
    /// Writes `warnings`, what is noticeable about the credential (R15, R18, R24, R40), and for what is bound behind its
    /// installation `binding`; nothing for accounts without a platform.
    static func writePlatform(_ account: Account, _ now: Instant, to writer: inout JSONWriter) {
        if let warnings = warnings(account, now) {
            writer.key("warnings")
            writer.beginArray()
            for warning in warnings { writer.string(warning) }
            writer.endArray()
        }
        writeBinding(account, to: &writer)
    }

    private static func warnings(_ account: Account, _ now: Instant) -> [String]? {
        let held = account.session.held
        switch account.definition.platform {
        case .kindly(let bot):
            guard let held else { return [] }
            return KindlyAdvice.on(
                held.credential, for: bot, chatID: account.chat?.id,
                hasExpiry: held.expiries.earliest != nil
            ).map(\.rawValue)
        case .chatbase:
            guard let held else { return [] }
            return ChatbaseClaims.warnings(held.credential.bearer, now: now.wall).map(\.rawValue)
        case .socialPlus, .described, nil: return nil
        }
    }

    private static func writeBinding(_ account: Account, to writer: inout JSONWriter) {
        guard let platform = account.platform, let binding = platform.binding else { return }
        let (state, cause) = binding.state
        writer.key("binding")
        writer.beginObject()
        writer.key("state")
        writer.string(state.rawValue)
        if state == .anonymous {
            writer.key("cause")
            writer.string(Broker.word(for: state, cause).text)
        }
        if case .kindly = account.definition.platform {
            writer.key("chat_id")
            if let chat = account.chat { writer.string(chat.id) } else { writer.null() }
        }
        if let bound = binding.boundGeneration {
            writer.key("bound_generation")
            writer.integer(bound.number)
        }
        if let failure = platform.bindFailure {
            writer.key("last_error")
            DoctorReply.write(failure, to: &writer)
        }
        writer.endObject()
    }
}
