/// How an answer goes out: as the server would send it, or as steps on the bare connection.
struct Delivery: Sendable {
    enum Form: Sendable {
        case answer(Answer)
        /// After the last step the connection is closed in order.
        case steps([Step])
    }

    enum Step: Sendable {
        case send([UInt8])
        /// `count` times the letter a.
        case fill(count: Int)
        case drip([UInt8], bytes: Int, interval: Int64)
        case hang
        case reset
    }

    /// Milliseconds before the first byte.
    let delay: Int64
    let form: Form
    /// The status that the peer gets to see; nil when not even that.
    let status: Int?

    init(_ answer: Answer) {
        delay = 0
        form = .answer(answer)
        status = answer.status
    }

    /// The delivery of `answer` as `scripted` spoils it.
    init(_ answer: Answer, spoiledBy scripted: ScriptedFault) {
        delay = scripted.delay
        form = Self.form(answer, scripted.fault)
        switch form {
        case .answer(let answer): status = answer.status
        case .steps(let steps):
            switch steps.first {
            case .hang, .reset, nil: status = nil
            default: status = answer.status
            }
        }
    }

    private static func form(_ answer: Answer, _ fault: Fault) -> Form {
        switch fault {
        case .delay: return .answer(answer)
        case .hang(let place): return .steps(begun(answer, place) + [.hang])
        case .reset(let place): return .steps(begun(answer, place) + [.reset])
        case .drip(let place, let bytes, let interval):
            let head = answer.head(contentLength: answer.body.count)
            switch place {
            case .start, .headers:
                return .steps([.drip(head + answer.body, bytes: bytes, interval: interval)])
            case .body: return .steps([.send(head), .drip(answer.body, bytes: bytes, interval: interval)])
            }
        case .truncated(let claimsWhole):
            let cut = Array(answer.body.prefix(answer.body.count / 2))
            return .steps([
                .send(answer.head(contentLength: claimsWhole ? answer.body.count : cut.count) + cut)
            ])
        case .huge(let bytes, let declared):
            let (opening, closing) = (Array("{\"token\":\"".utf8), Array("\"}".utf8))
            let head = answer.head(contentLength: declared ? bytes : nil)
            return .steps([
                .send(head + opening), .fill(count: bytes - opening.count - closing.count), .send(closing),
            ])
        case .headers(let bytes, let line):
            return .steps([
                .send(padded(answer, bytes, line).head(contentLength: answer.body.count) + answer.body)
            ])
        default: return .answer(replaced(answer, fault))
        }
    }

    // The faults that are well-formed answers, only not the ones that were hoped for.
    private static func replaced(_ answer: Answer, _ fault: Fault) -> Answer {
        switch fault {
        case .status(let status, let body, let contentType, let headers):
            var other = Answer(status: status, contentType: contentType, body: body, date: answer.date)
            for header in headers { other.setHeader(header.name, header.value) }
            return other
        case .wrongType(.jsonAsHTML):
            var other = answer
            other.setHeader("Content-Type", "text/html; charset=utf-8")
            return other
        case .wrongType(.htmlAsJSON):
            var other = answer
            other.body = page
            return other
        case .redirect(let status, let location):
            var other = Answer(status: status, contentType: nil, body: [], date: answer.date)
            other.setHeader("Location", location)
            return other
        case .retryAfter(let status, let wait):
            var other = Answer.problem(status, "too many requests", date: answer.date)
            switch wait {
            case .seconds(let seconds): other.setHeader("Retry-After", String(seconds))
            case .dateIn(let seconds):
                other.setHeader("Retry-After", CalendarText.httpDate(answer.date + seconds * 1000))
            case .text(let text): other.setHeader("Retry-After", text)
            }
            return other
        case .html:
            return Answer(status: 200, contentType: "text/html; charset=utf-8", body: page, date: answer.date)
        case .empty(let status): return Answer(status: status, contentType: nil, body: [], date: answer.date)
        case .delay, .hang, .drip, .reset, .truncated, .huge, .headers: return answer
        }
    }

    private static func begun(_ answer: Answer, _ place: Fault.Place) -> [Step] {
        let head = answer.head(contentLength: answer.body.count)
        switch place {
        case .start: return []
        case .headers: return [.send(Array(head.prefix(head.count / 2)))]
        case .body: return [.send(head + answer.body.prefix(answer.body.count / 2))]
        }
    }

    private static func padded(_ answer: Answer, _ bytes: Int, _ line: Int) -> Answer {
        var padded = answer
        var left = bytes
        while left > 0 {
            let name = "X-Padding-\(padded.headers.count)"
            padded.headers.append(
                (name, String(repeating: "a", count: max(1, min(line, left) - name.utf8.count - 4))))
            left -= line
        }
        return padded
    }

    private static let page = Array(
        "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Sign in to use this network.</body></html>\n"
            .utf8)
}
