import Broker
import BrokerSupport
import CredentialCore
import Testing

/// Everything that can be asked of a session in every state, with everything that can be under way in it, and whatever the platform says.
@Suite struct `A session at social.plus, exhaustively` {
    @Test(arguments: SessionMatrix.situations)
    func `R169 to R181: only steps that there are happen, and every call is answered once`(
        _ situation: SessionMatrix.Situation
    ) throws {
        for command in SessionMatrix.commands {
            for answer in SessionMatrix.answers {
                let faults = try run(situation, command.act, answer)
                guard faults.isEmpty else {
                    Issue.record("\(command.name), \(answer.name): \(faults.joined(separator: "; "))")
                    return
                }
            }
        }
    }

    private func run(
        _ situation: SessionMatrix.Situation, _ command: SessionMatrix.Act, _ answer: SessionMatrix.Answer
    ) throws -> [String] {
        let cell = try SessionCell(kinds: situation.kinds)
        try situation.reach(cell)
        guard cell.state == situation.state else { return ["it is \(cell.state ?? "-")"] }
        let calls = cell.callers.count
        cell.stage.store.failure = answer.store
        try command(cell)
        cell.network.refusal = answer.refusal
        cell.network.failure = answer.failure
        cell.goOnline()
        cell.settle()
        return try stepFaults(cell) + answerFaults(cell) + endFaults(cell, answer)
            + promiseFaults(cell, calls, answer)
    }

    private func stepFaults(_ cell: SessionCell) -> [String] {
        var faults: [String] = []
        var state: String?
        for (from, to) in cell.told {
            if let state, from != state { faults.append("told from \(from ?? "-") in \(state)") }
            if let from, let to, to != "null", !SessionMatrix.steps.contains("\(from)>\(to)") {
                faults.append("told of \(from)>\(to)")
            }
            state = to
        }
        if cell.questionsBehindTheEnd > 0 { faults.append("a handler was asked behind the end") }
        return faults
    }

    private func answerFaults(_ cell: SessionCell) -> [String] {
        cell.callers.compactMap { caller in
            guard caller.answers.count == 1, let line = caller.answers.first, line.member("id") == "1" else {
                return "\(caller.method) was answered with \(caller.answers)"
            }
            return line.contains("internal_error") ? line : nil
        }
    }

    /// What is told is what is said, on the disk, and after a restart.
    private func endFaults(_ cell: SessionCell, _ answer: SessionMatrix.Answer) throws -> [String] {
        guard let state = cell.state, state != "null" else { return [] }
        var faults: [String] = []
        let client = try #require(cell.stage.connect())
        let said = cell.stage.state(client)
        if said != state { faults.append("told \(state), said \(said)") }
        let token = cell.stage.token(client)
        let isSession = state == "established" || state == "token_expired"
        if token.contains("bearer_token"), !isSession { faults.append("a token in \(state)") }
        // Another network is another life, and the first one's is still there when that comes back.
        guard answer.store == nil, answer.failure == nil, ["not_logged_in", "terminated"].contains(state),
            try cell.stage.account("app")?.definition.destination == SocialNetwork.account().destination
        else { return faults }
        if cell.stage.store.credentials.values.contains(where: { $0.held != nil }) {
            faults.append("a credential on disk in \(state)")
        }
        let (next, other) = try cell.network.stage(after: cell.stage)
        if next.state(other) != state { faults.append("\(state) is \(next.state(other)) after a restart") }
        return faults
    }

    /// A secure logout that succeeds behind a session has revoked it (R164), and nothing of it is left.
    private func promiseFaults(
        _ cell: SessionCell, _ calls: Int, _ answer: SessionMatrix.Answer
    ) -> [String] {
        cell.callers.dropFirst(calls).compactMap { caller in
            guard caller.method == "session.secure_logout", let line = caller.answers.first,
                !line.contains(#""error""#), !line.contains("already_logged_out")
            else { return nil }
            let isRevoked = cell.network.log.contains { $0.hasPrefix("DELETE") }
            let hadToken = cell.network.log.contains { $0.hasPrefix("POST") || $0.hasPrefix("GET") }
            // A login that was refused made nothing; what one without an answer made nobody knows.
            let wasEnded = cell.told.contains {
                $0.to == "terminated"
                    || answer.failure == nil && $0.from == "establishing" && $0.to == "not_logged_in"
            }
            return isRevoked || wasEnded || !hadToken ? nil : "signed out without a revocation: \(line)"
        }
    }
}
