// A handler and a subscriber in one: answers for an account, and says what changes.
// usage: chatauth-example SOCKET ACCOUNT
import ChatAuthClient
import Glibc

/// Whatever signs your user in; what it throws is a refusal.
func signIn(_ question: Question) throws -> HandlerAnswer {
    .credential(idToken: Secret("token-of-\(question.account)"), expiresAt: Int64(time(nil)) + 3600)
}

func say(_ words: String...) {
    print(words.joined(separator: " "))
    fflush(nil)
}

guard CommandLine.arguments.count == 3 else { exit(2) }
let account = CommandLine.arguments[2]
do {
    let client = try ChatAuthClient(socketPath: CommandLine.arguments[1])
    let state = try client.subscribe(to: [.auth, .token, .handler], accounts: [account]) { event in
        say(event.method, event.from ?? "-", "->", event.to ?? "-", event.cause ?? "")
        if event.method == "handler.replaced" { client.stop() }
    }
    say("state", state.answer("accounts")?.json ?? "")
    try client.handle(account, signIn)
    let token = try client.token(for: account)
    say("a token of \(token.bearer.count) bytes, generation \(token.generation)")
    try client.run()
} catch {
    say("failed: \(error)")
    exit(1)
}
