import JSON

/// A part of a list: `limit` entries behind `cursor`, the id of the last one that the client has seen.
struct ChatbasePage<Element: Sendable> {
    private let elements: ArraySlice<Element>
    private let total: Int
    /// Where the next page begins; nil on the last one.
    private let cursor: String?

    /// Reads `cursor` and `limit` (1 to 100, 20 where it is not given) of the query.
    init(_ all: [Element], _ request: Request, id: (Element) -> String) throws(ChatbaseFailure) {
        var limit = 20
        if let text = request.parameter("limit") {
            guard let number = Int(text), (1...100).contains(number) else {
                throw .invalidBody(field: "limit", message: "Expected 1 to 100")
            }
            limit = number
        }
        var start = 0
        if let text = request.parameter("cursor"), !text.isEmpty {
            guard let index = all.firstIndex(where: { id($0) == text }) else {
                throw .invalidBody(field: "cursor", message: "Unknown")
            }
            start = index + 1
        }
        elements = all.dropFirst(start).prefix(limit)
        total = all.count
        cursor = start + limit < all.count ? elements.last.map(id) : nil
    }

    func answer(date: Int64, _ write: (Element, inout JSONWriter) -> Void) -> Answer {
        Answer(status: 200, date: date) { json in
            json.beginObject()
            json.key("data")
            json.beginArray()
            for element in elements { write(element, &json) }
            json.endArray()
            json.key("pagination")
            json.beginObject()
            json.key("cursor")
            if let cursor { json.string(cursor) } else { json.null() }
            json.key("hasMore")
            json.bool(cursor != nil)
            json.key("total")
            json.integer(Int64(total))
            json.endObject()
            json.endObject()
        }
    }
}

extension ChatbaseConversation {
    func write(user: String, _ json: inout JSONWriter) {
        json.beginObject()
        json.key("id")
        json.string(id)
        json.key("title")
        json.null()
        json.key("createdAt")
        json.integer(createdAt)
        json.key("updatedAt")
        json.integer(updatedAt)
        json.key("userId")
        json.string(user)
        json.key("status")
        json.string("ongoing" as StaticString)
        json.endObject()
    }
}

extension ChatbaseMessage {
    func write(_ json: inout JSONWriter) {
        json.beginObject()
        writeContent(&json)
        json.key("createdAt")
        json.integer(createdAt)
        json.endObject()
    }

    /// `id`, `role` and `parts`.
    func writeContent(_ json: inout JSONWriter) {
        json.key("id")
        json.string(id)
        json.key("role")
        json.string(isFromUser ? "user" : "assistant" as StaticString)
        json.key("parts")
        json.beginArray()
        json.beginObject()
        json.key("type")
        json.string("text" as StaticString)
        json.key("text")
        json.string(text)
        json.endObject()
        json.endArray()
    }
}

/// What the agent says, in one piece or as a stream of events.
struct ChatbaseReply {
    let message: ChatbaseMessage
    let conversation: String
    /// The id of the message that it answers.
    let question: String
    let user: String

    func whole(date: Int64) -> Answer {
        Answer(status: 200, date: date) { json in
            json.beginObject()
            json.key("data")
            json.beginObject()
            message.writeContent(&json)
            json.key("metadata")
            writeMetadata(isStream: false, &json)
            json.endObject()
            json.endObject()
        }
    }

    /// Server-sent events, `[DONE]` the last; the user's id comes with `finish`.
    func stream(date: Int64) -> Answer {
        let events = [
            Answer(status: 200, date: date) { json in
                json.beginObject()
                json.key("type")
                json.string("start" as StaticString)
                json.key("messageId")
                json.string(message.id)
                json.endObject()
            },
            Answer(status: 200, date: date) { json in
                json.beginObject()
                json.key("type")
                json.string("text-delta" as StaticString)
                json.key("delta")
                json.string(message.text)
                json.endObject()
            },
            Answer(status: 200, date: date) { json in
                json.beginObject()
                json.key("type")
                json.string("finish" as StaticString)
                json.key("messageMetadata")
                writeMetadata(isStream: true, &json)
                json.endObject()
            },
        ]
        // Each text ends with a line end; an empty line ends the event.
        let body = events.flatMap { Array("data: ".utf8) + $0.body + Array("\n".utf8) }
        return Answer(
            status: 200, contentType: "text/event-stream", body: body + Array("data: [DONE]\n\n".utf8),
            date: date)
    }

    private func writeMetadata(isStream: Bool, _ json: inout JSONWriter) {
        json.beginObject()
        if isStream {
            json.key("messageId")
            json.string(message.id)
        }
        json.key("conversationId")
        json.string(conversation)
        json.key("userMessageId")
        json.string(question)
        json.key("userId")
        json.string(user)
        json.key("finishReason")
        json.string("stop" as StaticString)
        json.key("usage")
        json.beginObject()
        json.key("credits")
        json.integer(1)
        json.endObject()
        json.endObject()
    }
}
