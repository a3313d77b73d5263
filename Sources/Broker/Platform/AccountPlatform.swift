package import CredentialCore
package import Providers
import Secrets

/// What an account is at its platform, and what is under way for it there.
package final class AccountPlatform {
    /// What is known of it.
    package internal(set) var state: PlatformState
    /// The newest deletion, where that was no sign-out.
    var forgotten: Generation?
    /// The install as the platform knows it, where the account has one of its own.
    var ownDevice: DeviceID?
    /// What the platform has seen of the credential; nil where nothing is bound behind it.
    package internal(set) var binding: BindSession?
    /// Requests of the binding that are out.
    var bindAttempts: [BindTicket: Attempt] = [:]
    /// Chats that become the account's when they are on disk, in the order in which they were wanted.
    var chatsBeingStored: [PendingChat] = []
    /// Chats at other destinations, kept for the case that one of them is configured again.
    var earlier: [PlatformRow.Stay] = []
    /// What is asked of the platform about the chat.
    var lane: ChatLane?
    /// The bearer that the platform took before it is installed, and for which chat.
    var boundAhead: (bearer: SecretBytes, chatID: String?)?
    /// Why the answer to the newest bind does not say until when that bearer holds.
    var expiryFlaw: (bearer: BoundBearer, flaw: BindAnswer.ExpiryFlaw)?
    /// Why the platform refused the credential that is held, or could not be asked.
    package internal(set) var bindFailure: RefreshFailure?
    /// What the platform found out about the credential that is about to be installed.
    var pendingIdentity: PendingIdentity?
    /// What somebody asked for and is under way; the others wait for it.
    var commands: [Command] = []
    /// What is under way for a session at social.plus.
    var work = SessionWork()

    /// A chat on its way to the disk.
    final class PendingChat {
        let chat: KindlyChat
        /// Whoever wants this very chat.
        var completions: [(Result<KindlyChat, StoreFailure>) -> Void] = []
        /// Whoever wants whichever chat there is.
        var waiting: [(Result<KindlyChat, StoreFailure>) -> Void] = []

        init(_ chat: KindlyChat, _ completion: ((Result<KindlyChat, StoreFailure>) -> Void)? = nil) {
            self.chat = chat
            if let completion { completions = [completion] }
        }
    }

    /// Why the identity that is about to be forgotten is no longer one; nil: somebody signed out.
    var dropCause: RefreshFailure?
    /// Whether the identity is being shown for the device that is current now, and whoever waits for that, and until when.
    var isShowing = false
    var showing: [(deadline: BootTime, completion: (BrokerAnswer) -> Void)] = []

    /// A token that the server took: for which device, and whose it says that it is.
    struct VerifiedToken {
        let device: DeviceID
        let userID: String?
    }

    /// A verified identity whose credential is on its way to the disk.
    struct PendingIdentity {
        let verified: VerifiedToken
        /// Whether user and conversation begin anew.
        let isNew: Bool
        /// Whether it takes the place of somebody else, of whom nothing may be carried over (R103).
        let isOther: Bool
    }

    /// The bearer that a platform was shown last: it may not be held yet, and of an account that rests only its number is known.
    enum BoundBearer {
        case shown(SecretBytes)
        case held(Generation)

        func isOf(_ held: HeldCredential) -> Bool {
            switch self {
            case .shown(let bearer): bearer === held.credential?.bearer
            case .held(let generation): generation == held.generation
            }
        }
    }

    /// Something that somebody asked for, and that nothing else of the account may run beside.
    struct Command {
        let attempt: Attempt
        let begin: (Attempt) -> Void
        /// Answers whoever asked when it is given up.
        let giveUp: (SessionFailure) -> Void
    }

    /// When the platform may be asked again for something that somebody wants.
    var pace = CommandPace()
    /// The token that it refused last, beside which generation that was shown, and when.
    var refusedToken: (bearer: SecretBytes, beside: Generation?, failure: RefreshFailure, at: BootTime)?

    /// More are refused.
    static let commandLimit = 16

    init(state: PlatformState) { self.state = state }
}

/// What is known of an account at its platform.
package enum PlatformState: Sendable {
    /// Nil: no chat was needed yet.
    case kindly(KindlyChat?)
    case chatbase(ChatbaseIdentity)
    case socialPlus(SocialPlusSession)
    /// Nothing but the binding is remembered.
    case described
}

extension AccountPlatform {
    /// The state to begin with; nil for a platform of which nothing is remembered.
    static func initial(_ platform: PlatformDefinition?) -> PlatformState? {
        switch platform {
        case .kindly: .kindly(nil)
        case .chatbase: .chatbase(ChatbaseIdentity())
        case .described: .described
        case .socialPlus(let network): .socialPlus(SocialPlusSession(rules: SocialPlusRules(network)))
        case nil: nil
        }
    }
}

extension Account {
    /// The user whom a source is asked for when it is only tried.
    var userToCheck: String? {
        guard case .socialPlus(let network) = definition.platform else { return nil }
        return socialPlus?.user?.id ?? network.userID
    }
}
