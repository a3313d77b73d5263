import Broker
import ChatAuthAPI
import CredentialCore
import JSON
import Providers
import Secrets

/// `account.doctor` and `daemon.doctor`.
extension RPCServer {
    func accountDoctor(_ call: Call, _ parameters: borrowing Parameters) throws(CallFailure) {
        let (account, _) = try account(parameters, call, needs: .operate)
        guard try parameters.flag("online") ?? false else { return diagnose(call, account, [], nil) }
        broker.probe(account) { [unowned self] outcome in
            let reached = outcome.map { DoctorReply.reached($0) } ?? []
            let waiter = wait(call) { [unowned self] answer in diagnose(call, account, reached, answer) }
            broker.check(account, waiter: waiter)
        }
    }

    private func diagnose(
        _ call: Call, _ account: Account, _ reached: [Finding], _ checked: BrokerAnswer?
    ) {
        broker.facts(of: account) { facts in
            var facts = facts
            let tried = reached + DoctorReply.checked(checked, &facts)
            // What was tried just now says more than that nothing can be seen, and more than what was seen before.
            let seen = Doctor.findings(facts).filter { finding in
                tried.isEmpty || finding.severity != .ok && !tried.contains { $0.code == finding.code }
            }
            let findings = (tried + seen).ordered
            call.answer { writer in
                writer.beginObject()
                CredentialReply.writeSummary(account, facts.now, to: &writer)
                writer.key("provider")
                writer.string(account.definition.provider.rawValue)
                writer.expiries(facts.held?.expiries ?? .unknown)
                DoctorReply.write(facts.held?.credential, to: &writer)
                DoctorReply.write(findings, naming: account.definition, to: &writer)
                writer.endObject()
            }
        }
    }

    func daemonDoctor(_ call: Call) {
        let isAdmin = isAdmin(call.client)
        let facts = control.facts
        var findings = DaemonDoctor.store(broker.storeState, isBehind: broker.isClockBehind)
        if isAdmin { findings += DaemonDoctor.process(facts, control.storeFacts) }
        let visible = visibleAccounts(call.client)
        findings += DaemonDoctor.accounts(
            visible.map { ($0.name, $0.session.state(at: now)) }, isOpen: broker.storeState == .open)
        if !isAdmin {
            findings.append(
                Finding(
                    .hint, .nothingFound,
                    "you are no administrator: worker, audit log and key were not looked at"))
        }
        guard isAdmin else { return answer(call, findings) }
        control.checkConfiguration { [unowned self] faults in
            answer(call, findings + DaemonDoctor.configuration(faults))
        }
    }

    private func answer(_ call: Call, _ findings: [Finding]) {
        call.answer { writer in
            writer.beginObject()
            writer.key("version")
            writer.string(self.control.facts.version)
            DoctorReply.write(findings.ordered, naming: nil, to: &writer)
            writer.endObject()
        }
    }
}

/// How findings stand in an answer, and what trying brings.
enum DoctorReply {
    /// Writes `ok`, whether there is no error, and `findings`.
    static func write(
        _ findings: [Finding], naming definition: AccountDefinition?, to writer: inout JSONWriter
    ) {
        writer.key("ok")
        writer.bool(!findings.contains { $0.severity == .error })
        writer.key("findings")
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            writer.key("severity")
            writer.string(finding.severity.rawValue)
            writer.key("code")
            writer.string(finding.code.rawValue)
            writer.key("message")
            writer.string(
                finding.message + (finding.failure.map { CallFailure.detail($0, definition) } ?? ""))
            if let fix = finding.fix {
                writer.key("fix")
                writer.string(fix)
            }
            if let requirement = finding.requirement {
                writer.key("requirement")
                writer.string("R\(requirement)")
            }
            if let failure = finding.failure {
                writer.key("error")
                write(failure, to: &writer)
            } else if finding.severity == .error, let kind = kind(of: finding.code, definition) {
                writer.key("error")
                writer.beginObject()
                writer.key("kind")
                writer.string(kind.rawValue)
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endArray()
    }

    /// What whoever wants a token is told meanwhile, where the code does not say it and nothing has failed; nil: it is refused.
    private static func kind(of code: FindingCode, _ definition: AccountDefinition?) -> ErrorKind? {
        switch code {
        case .sourceMissing: definition?.hasSignIn == true ? .signInNeeded : .noSource
        case .secretMissing: .upstreamError
        case .renewalHandlerMissing, .renewalHandlerOfOtherKind: .handlerRequired
        case .sessionTerminated: .terminated
        case .configurationRefused: .accountInvalid
        default: nil
        }
    }

    /// Writes a failure by its kind, status and code; what is said of it depends on who failed.
    static func write(_ failure: RefreshFailure, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("kind")
        writer.string(CallFailure.words(for: failure).kind.rawValue)
        if let status = failure.httpStatus {
            writer.key("http_status")
            writer.integer(Int64(status))
        }
        if let code = failure.providerCode {
            writer.key("provider_code")
            writer.string(code)
        }
        writer.endObject()
    }

    /// Writes what the tokens say of themselves that is no secret; never the tokens.
    static func write(_ credential: Credential?, to writer: inout JSONWriter) {
        writer.key("tokens")
        writer.beginObject()
        if let credential {
            write("id_token", credential.idToken, to: &writer)
            write("access_token", credential.accessToken, to: &writer)
        }
        writer.endObject()
    }

    private static func write(_ name: StaticString, _ token: SecretBytes?, to writer: inout JSONWriter) {
        guard let token else { return }
        writer.key(name)
        writer.beginObject()
        writer.key("kind")
        defer { writer.endObject() }
        writer.string(CredentialReply.kind(of: token))
        guard let seen = SeenToken(token) else { return }
        for (name, value) in [
            ("alg", seen.algorithm), ("kid", seen.keyID), ("iss", seen.issuer),
        ] {
            guard let value else { continue }
            writer.key(named: name)
            writer.string(value)
        }
        if !seen.audience.isEmpty {
            writer.key("aud")
            writer.beginArray()
            for audience in seen.audience { writer.string(audience) }
            writer.endArray()
        }
        writer.moment("exp", seen.exp.moment)
    }

    /// What came of trying the way to the platform.
    static func reached(_ outcome: Result<PlatformProbe.Answer, RefreshFailure>) -> [Finding] {
        switch outcome {
        case .success(let answer):
            [
                answer.finding
                    ?? Finding(
                        .ok, .platformReached,
                        "the platform answers (status \(answer.status)): name, way, proxy and certificate are good"
                    )
            ]
        case .failure(let failure):
            [
                Finding(
                    .error, .platformUnreachable, "the platform cannot be reached",
                    fix: "check base_url, proxy and ca_file, the resolver, and the way out of this machine",
                    requirement: 200, failure: failure)
            ]
        }
    }

    /// What came of trying the source; nothing where there is none.
    static func checked(_ answer: BrokerAnswer?, _ facts: inout AccountFacts) -> [Finding] {
        switch answer {
        case .checked(nil): return [Finding(.ok, .sourceWorks, "the source gives a credential")]
        case .checked(.refresh(let failure, _)?) where failure.party == .source:
            facts.isSourceFailing = true
            return [Doctor.checked(failure, facts)]
        // The source gave one, and what keeps it from being used is seen without trying.
        default: return []
        }
    }
}
