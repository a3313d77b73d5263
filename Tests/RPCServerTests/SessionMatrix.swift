import Broker
import BrokerSupport
import CredentialCore
import Testing

/// One session in one situation: the platform, the disk and a handler are played, and everybody who calls is remembered.
final class SessionCell {
    let network = SocialNetwork()
    let stage: Stage
    /// Told of every step, and of every question to a handler that is registered on the same connection.
    let watcher: MemoryConnection
    private(set) var callers: [(method: String, connection: MemoryConnection, answers: [String])] = []
    /// Steps in the order in which they were told, questions in between.
    private(set) var told: [(from: String?, to: String?)] = []
    private(set) var questions: [(id: Int, method: String)] = []
    /// Questions that came while the session was told to be terminated.
    private(set) var questionsBehindTheEnd = 0

    static let annas = "e30.eyJ1c2VySWQiOiJhbm5hIn0.c2ln"
    // {"userId":"anna","exp":1767229200}: an hour from the beginning.
    static let annasHour = "e30.eyJ1c2VySWQiOiJhbm5hIiwiZXhwIjoxNzY3MjI5MjAwfQ.c2ln"

    init(kinds: [String]) throws {
        (stage, watcher) = try network.stage()
        let kinds = kinds.map { "\"\($0)\"" }.joined(separator: ",")
        _ = stage.call(watcher, "handler.register", #"{"account":"app","kinds":[\#(kinds)]}"#)
        _ = stage.call(watcher, "events.subscribe", #"{"topics":["session"]}"#)
        told.append((nil, "not_logged_in"))
        goOffline()
    }

    var state: String? { told.last?.to }

    /// Lets the platform answer, and the disk.
    func goOnline() {
        stage.store.isHeld = false
        stage.fetcher.backend = { [network] in network.answer($0) }
        stage.run()
        read()
    }

    func goOffline() { stage.fetcher.backend = nil }

    func call(_ method: String, _ rest: String = "") throws {
        let connection = try #require(stage.connect())
        callers.append((method, connection, []))
        stage.begin(connection, method, rest)
        read()
    }

    /// Answers every question that a handler was asked.
    func answerQuestions(_ result: String? = nil) {
        read()
        let asked = questions
        questions = []
        for question in asked {
            let usual =
                question.method == "session.on_token_renew"
                ? #"{"access_token":"\#(Self.annas)"}"# : #"{"auth_token":"at-2"}"#
            stage.answer(watcher, id: question.id, result ?? usual)
        }
        read()
    }

    /// Lets minutes pass, in which handlers answer as long as anything is under way.
    func settle() {
        for _ in 0..<14 {
            answerQuestions()
            stage.advance(.seconds(10))
            if stage.fetcher.out.isEmpty, callers.allSatisfy({ !$0.answers.isEmpty }) { break }
        }
        stage.advance(.seconds(120))
        answerQuestions()
    }

    /// Takes what everybody was sent.
    private func read() {
        for line in watcher.takeLines() {
            switch line.member("method") {
            case "session.changed": told.append((line.member("from"), line.member("to")))
            case "session.will_renew", "session.on_token_renew", "credential.fetch":
                guard let id = line.member("id").flatMap({ Int($0) }) else { continue }
                if state == "terminated" { questionsBehindTheEnd += 1 }
                questions.append((id, line.member("method") ?? ""))
            default: break
            }
        }
        for index in callers.indices { callers[index].answers += callers[index].connection.takeLines() }
    }
}

/// States of a session with what is under way in them, what may be asked of it, and what the platform may answer.
enum SessionMatrix {
    typealias Act = @Sendable (SessionCell) throws -> Void

    struct Situation: Sendable, CustomTestStringConvertible {
        let state: String
        let name: String
        let kinds: [String]
        let reach: Act
        var testDescription: String { "\(state), \(name)" }

        init(
            _ state: String, _ name: String, _ kinds: [String] = ["session.will_renew"],
            _ reach: @escaping Act
        ) {
            self.state = state
            self.name = name
            self.kinds = kinds
            self.reach = reach
        }
    }

    /// Every step that there is (R169 to R181), and that an account goes.
    static let steps: Set<String> = [
        "not_logged_in>establishing", "establishing>established", "establishing>not_logged_in",
        "established>token_expired", "established>terminated", "established>not_logged_in",
        "token_expired>established", "token_expired>terminated", "token_expired>not_logged_in",
        "terminated>not_logged_in",
    ]

    private static func logIn(_ cell: SessionCell) throws {
        cell.goOnline()
        try cell.call("session.login", #","auth_token":"at-1""#)
        cell.goOffline()
        cell.stage.advance(.seconds(5))
    }

    private static func expire(_ cell: SessionCell) throws {
        try logIn(cell)
        try cell.call("token.reject")
    }

    static let situations: [Situation] = [
        Situation("not_logged_in", "nothing") { _ in },
        Situation("establishing", "a handler is asked", ["credential.fetch", "session.will_renew"]) {
            try $0.call("session.login")
        },
        Situation("establishing", "the platform is asked") {
            try $0.call("session.login", #","auth_token":"at-1""#)
        },
        Situation("establishing", "an access token is verified", ["session.on_token_renew"]) {
            try $0.call("session.login_with_access_token", #","access_token":"\#(SessionCell.annas)""#)
        },
        Situation("establishing", "somebody wants out") {
            try $0.call("session.login", #","auth_token":"at-1""#)
            try $0.call("session.secure_logout")
        },
        Situation("establishing", "on its way to the disk") {
            try $0.call("session.login", #","auth_token":"at-1""#)
            $0.stage.store.isHeld = true
            if let request = $0.stage.fetcher.out.first { $0.stage.fetcher.end($0.network.answer(request)) }
        },
        Situation("established", "nothing") { try logIn($0) },
        Situation("established", "nobody renews it", ["session.on_token_renew"]) { try logIn($0) },
        Situation("established", "a handler is asked") {
            try logIn($0)
            try $0.call("session.renew")
        },
        Situation("established", "renewed") {
            try logIn($0)
            try $0.call("session.renew")
            $0.answerQuestions()
        },
        Situation("established", "a renewed access token is verified", ["session.on_token_renew"]) {
            $0.goOnline()
            try $0.call("session.login_with_access_token", #","access_token":"\#(SessionCell.annasHour)""#)
            $0.goOffline()
            $0.stage.advance(.seconds(3575))
            $0.answerQuestions()
        },
        Situation("established", "revoked") {
            try logIn($0)
            try $0.call("session.secure_logout")
        },
        Situation("established", "a logout is on its way to the disk") {
            try logIn($0)
            $0.stage.store.isHeld = true
            try $0.call("session.logout")
        },
        Situation("established", "a ban is on its way to the disk") {
            try logIn($0)
            $0.stage.store.isHeld = true
            try $0.call("session.report", #","code":400312"#)
        },
        Situation("established", "a revocation that was cut short") {
            try logIn($0)
            try $0.call("session.secure_logout")
            try $0.call("account.stop")
            try $0.call("account.start")
            $0.stage.advance(.zero)
        },
        Situation("token_expired", "a handler is asked") { try expire($0) },
        Situation("token_expired", "renewed") {
            try expire($0)
            $0.answerQuestions()
        },
        Situation("token_expired", "renewed, on its way to the disk") {
            try expire($0)
            $0.answerQuestions()
            $0.stage.store.isHeld = true
            if let request = $0.stage.fetcher.out.first { $0.stage.fetcher.end($0.network.answer(request)) }
        },
        Situation("token_expired", "paused") {
            try expire($0)
            $0.answerQuestions(#"{"unable":true}"#)
        },
        Situation("token_expired", "revoked") {
            try expire($0)
            try $0.call("session.secure_logout")
        },
        Situation("terminated", "nothing") {
            try logIn($0)
            try $0.call("session.report", #","code":400312"#)
        },
    ]

    static let commands: [(name: String, act: Act)] = [
        ("nothing", { _ in }),
        ("login", { try $0.call("session.login", #","auth_token":"at-1""#) }),
        ("login by a handler", { try $0.call("session.login") }),
        (
            "login with an access token",
            {
                try $0.call(
                    "session.login_with_access_token", #","access_token":"\#(SessionCell.annas)""#)
            }
        ),
        ("logout", { try $0.call("session.logout") }),
        ("secure logout", { try $0.call("session.secure_logout") }),
        (
            "logout behind a secure logout",
            {
                try $0.call("session.secure_logout")
                try $0.call("session.logout")
            }
        ),
        ("renew", { try $0.call("session.renew") }),
        ("renew with a token", { try $0.call("session.renew", #","auth_token":"at-2""#) }),
        ("renew with a token that is none", { try $0.call("session.renew", #","access_token":"a.b.c""#) }),
        ("renew without one", { try $0.call("session.renew", #","unable":true"#) }),
        ("report of a ban", { try $0.call("session.report", #","code":400312"#) }),
        ("report of a refusal", { try $0.call("session.report", #","code":400100"#) }),
        ("report of a limit", { try $0.call("session.report", #","code":400311"#) }),
        ("token", { try $0.call("token.get") }),
        ("rejection", { try $0.call("token.reject") }),
        ("rejection with a ban", { try $0.call("token.reject", #","code":"400312""#) }),
        ("refresh", { try $0.call("auth.refresh") }),
        ("stop", { try $0.call("account.stop") }),
        (
            "stop and start",
            {
                try $0.call("account.stop")
                try $0.call("account.start")
            }
        ),
        (
            "reload without it",
            {
                $0.stage.broker.configure([])
                $0.stage.run()
            }
        ),
        (
            "reload with another network",
            {
                $0.stage.broker.configure([try SocialNetwork.account(base: "https://apix.us.amity.co")])
                $0.stage.run()
            }
        ),
        (
            "reload with other rules",
            {
                $0.stage.broker.configure([try SocialNetwork.account(isSecure: false)])
                $0.stage.run()
            }
        ),
        (
            "the handler leaves",
            {
                $0.stage.begin(
                    $0.watcher, "handler.unregister",
                    #","kinds":["session.will_renew","session.on_token_renew","credential.fetch"]"#)
            }
        ),
        ("half a minute", { $0.stage.advance(.seconds(31)) }),
        ("two hours", { $0.stage.advance(.seconds(7200)) }),
        ("the end of the daemon", { $0.stage.broker.shutDown() }),
    ]

    struct Answer: Sendable {
        let name: String
        var refusal: (status: Int, code: Int?)?
        var failure: FetchFailure?
        var store: StoreFailure?
    }

    static let answers: [Answer] = [
        Answer(name: "yes"), Answer(name: "unauthorised", refusal: (401, 400_100)),
        Answer(name: "banned", refusal: (403, 400_312)), Answer(name: "no answer", failure: .timeout),
        Answer(name: "yes, on a full disk", store: .full),
        Answer(name: "banned, on a full disk", refusal: (403, 400_312), store: .full),
    ]
}
