/// Who a request speaks for: without a user's token, its device.
enum ChatbaseScope: Hashable, Sendable {
    case device(String)
    case user(String)
}

/// One message of a conversation.
struct ChatbaseMessage: Sendable {
    let id: String
    let isFromUser: Bool
    let text: String
    /// Unix seconds.
    let createdAt: Int64
}

/// One conversation, with whom it belongs to now.
struct ChatbaseConversation: Sendable {
    let id: String
    var owner: ChatbaseScope
    /// Unix seconds.
    let createdAt: Int64
    var updatedAt: Int64
    var messages: [ChatbaseMessage] = []
}

/// The conversations of one agent, and the moves from a device to a user that sign-ins have started.
///
/// A move is background work of the platform: it is noted at the sign-in, and done by the first request at or after its time.
/// A list right after a sign-in therefore does not show what is still to move.
struct ChatbaseConversations: Sendable {
    private struct Move: Sendable {
        let time: Int64
        let conversations: Set<String>
        let user: String
    }

    private var all: [ChatbaseConversation] = []
    private var moves: [Move] = []
    /// The user records that the platform gives to devices nobody is signed in on.
    private var anonymous: [String: String] = [:]

    /// Does the moves whose time, in Unix milliseconds, has come.
    mutating func settle(_ now: Int64) {
        for move in moves where move.time <= now {
            for index in all.indices where move.conversations.contains(all[index].id) {
                all[index].owner = .user(move.user)
            }
        }
        moves.removeAll { $0.time <= now }
    }

    /// Starts the move of what belongs to `device` now, at `time` in Unix milliseconds.
    mutating func move(from device: String, to user: String, at time: Int64) {
        let conversations = all.filter { $0.owner == .device(device) }.map(\.id)
        guard !conversations.isEmpty else { return }
        moves.append(Move(time: time, conversations: Set(conversations), user: user))
    }

    /// What belongs to `scope`, that which was spoken in last first.
    func list(_ scope: ChatbaseScope) -> [ChatbaseConversation] {
        // Sorting is not stable, and a test within one second wants an order all the same: the number decides then.
        all.enumerated().filter { $0.element.owner == scope }
            .sorted { ($0.element.updatedAt, $0.offset) > ($1.element.updatedAt, $1.offset) }
            .map(\.element)
    }

    subscript(_ id: String) -> ChatbaseConversation? { all.first { $0.id == id } }

    mutating func begin(_ id: String, _ owner: ChatbaseScope, _ second: Int64) {
        all.append(ChatbaseConversation(id: id, owner: owner, createdAt: second, updatedAt: second))
    }

    mutating func append(_ message: ChatbaseMessage, to id: String) {
        guard let index = all.firstIndex(where: { $0.id == id }) else { return }
        all[index].messages.append(message)
        all[index].updatedAt = message.createdAt
    }

    /// Forgets what came after a message.
    mutating func takeBack(after message: String, in id: String) {
        guard let index = all.firstIndex(where: { $0.id == id }),
            let last = all[index].messages.firstIndex(where: { $0.id == message })
        else { return }
        all[index].messages.removeSubrange((last + 1)...)
    }

    /// The user's id as answers give it; a device's record is called `record` the first time that it is needed.
    mutating func userID(_ scope: ChatbaseScope, record: @autoclosure () -> String) -> String {
        switch scope {
        case .user(let user): return user
        case .device(let device):
            if let known = anonymous[device] { return known }
            let new = record()
            anonymous[device] = new
            return new
        }
    }
}
