import CredentialCore
import JSON
import Secrets

/// Finds the parts of a credential in an object, by the names that its backend uses.
struct AnswerReader {
    let fields: FieldNames
    let status: Int?

    /// For each part the names that are tried, in order; a dot descends into an object.
    struct FieldNames {
        var idToken: [String]
        var accessToken: [String]
        var issuer: [String]
        var expiresAt: [String]
        var expiresIn: [String]

        static let usual = FieldNames(
            idToken: ["id_token", "idToken", "jwt", "token"], accessToken: ["access_token", "accessToken"],
            issuer: ["issuer"], expiresAt: ["expires_at", "expiresAt"],
            expiresIn: ["expires_in", "expiresIn"])
    }

    /// Without a map the names that backends commonly use are tried, those of what was wished for first.
    init(fields: FieldMap?, for wish: SourceContext.Wish = .credentials, status: Int?) {
        self.status = status
        guard let fields else {
            var usual = FieldNames.usual
            usual.idToken = wish.members + usual.idToken
            self.fields = usual
            return
        }
        // What a map says of tokens is the whole truth about tokens; what it does not mention of the rest has its usual names.
        self.fields = FieldNames(
            idToken: [fields.idToken, fields.token].compactMap { $0 },
            accessToken: [fields.accessToken].compactMap { $0 },
            issuer: fields.issuer.map { [$0] } ?? FieldNames.usual.issuer,
            expiresAt: fields.expiresAt.map { [$0] } ?? FieldNames.usual.expiresAt,
            expiresIn: fields.expiresIn.map { [$0] } ?? FieldNames.usual.expiresIn)
    }

    func read(
        _ root: borrowing JSONValue, sentAt: WallTime?, originDate: WallTime?
    ) throws(RefreshFailure) -> SourceAnswer.Reading {
        let idToken = try secret(fields.idToken, in: root)
        let accessToken = try secret(fields.accessToken, in: root)
        let issuer = try text(fields.issuer, in: root)
        let hint = earlier(
            reading(fields.expiresAt, in: root) { ExpiryReading.expiresAt($0) },
            sentAt.map { sentAt in
                reading(fields.expiresIn, in: root) { ExpiryReading.expiresIn($0, sentAt: sentAt) }
            } ?? .absent)
        return try SourceAnswer.assemble(
            idToken: idToken, accessToken: accessToken, issuer: issuer, hint: hint, originDate: originDate,
            status: status)
    }

    private func earlier(_ left: ExpiryReading, _ right: ExpiryReading) -> ExpiryReading {
        switch (left, right) {
        case (.at(let first), .at(let second)): .at(min(first, second))
        case (.at, _), (_, .absent): left
        case (_, .at), (.absent, _): right
        case (.implausible, .implausible): .implausible
        }
    }

    private func secret(
        _ names: [String], in root: borrowing JSONValue
    ) throws(RefreshFailure) -> SecretBytes? {
        for name in names {
            guard let value = find(name, in: root), !value.isNull else { continue }
            guard value.kind == .string, let secret = value.secret else {
                throw RefreshFailure(.malformed, httpStatus: status)
            }
            if !secret.isEmpty { return secret }
        }
        return nil
    }

    private func text(_ names: [String], in root: borrowing JSONValue) throws(RefreshFailure) -> String? {
        for name in names {
            guard let value = find(name, in: root), !value.isNull else { continue }
            guard value.kind == .string else { throw RefreshFailure(.malformed, httpStatus: status) }
            if let text = value.string, !text.isEmpty { return text }
        }
        return nil
    }

    private func reading(
        _ names: [String], in root: borrowing JSONValue, _ read: (borrowing JSONValue) -> ExpiryReading
    ) -> ExpiryReading {
        for name in names {
            guard let value = find(name, in: root) else { continue }
            let reading = read(value)
            if reading != .absent { return reading }
        }
        return .absent
    }

    @_lifetime(copy root)
    private func find(_ path: String, in root: borrowing JSONValue) -> JSONValue? {
        if let value = root.member(named: path) { return value }
        guard let dot = path.firstIndex(of: "."), let parent = root.member(named: String(path[..<dot])) else {
            return nil
        }
        return find(String(path[path.index(after: dot)...]), in: parent)
    }
}

extension SourceContext.Wish {
    /// The members that bear its name, as vendors' backends write it; none where any credential is wished for.
    var members: [String] {
        switch self {
        case .token, .credentials: []
        case .authToken: ["auth_token", "authToken"]
        case .accessToken: ["access_token", "accessToken"]
        }
    }
}
