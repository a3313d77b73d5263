import Broker
import CredentialCore
import JSON
import Providers

/// What `account.show` and `credentials.inspect` say of an account at its platform.
extension CredentialReply {
    /// Writes `warnings`, what is noticeable about the credential (R15, R18, R24, R40, R201), for what is bound behind its
    /// installation `binding`, and `session` where there is one (R202); nothing for accounts without a platform.
    static func writePlatform(
        _ account: Account, _ outlook: SocialPlusOutlook?, _ now: Instant, to writer: inout JSONWriter
    ) {
        writer.warnings(account.warnings(at: now))
        // A token that has ended is kept and sent until the server says no (R94).
        if case .chatbase = account.definition.platform, account.session.held != nil {
            writer.key("expired")
            writer.bool(account.session.schedule?.isExpired(at: now) == true)
        }
        writeBinding(account, to: &writer)
        guard let outlook else { return }
        writer.key("session")
        writer.beginObject()
        writer.session(outlook, of: account)
        writer.endObject()
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
            writer.key("connected")
            writer.bool(account.chat?.token != nil)
            writer.key("attached")
            writer.bool(account.chat?.isAttached ?? false)
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

extension JSONWriter {
    /// Writes what is noticeable about a credential; nothing where a platform has no words for it.
    mutating func warnings(_ warnings: [PlatformChange.Word]?) {
        guard let warnings else { return }
        key("warnings")
        beginArray()
        for warning in warnings { string(warning.text) }
        endArray()
    }
}
