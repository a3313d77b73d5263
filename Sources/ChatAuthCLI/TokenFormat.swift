import JSON
import Secrets

/// How `get-token` prints what it got.
enum TokenFormat: UInt8, CaseIterable {
    case token, header, headers, curl, json, env, execCredential

    var name: StaticString {
        switch self {
        case .token: "token"
        case .header: "header"
        case .headers: "headers"
        case .curl: "curl"
        case .json: "json"
        case .env: "env"
        case .execCredential: "exec-credential"
        }
    }

    init?(_ argument: Argument) {
        var raw: UInt8 = 0
        while let format = TokenFormat(rawValue: raw) {
            raw += 1
            if argument == format.name {
                self = format
                return
            }
        }
        return nil
    }

    /// Renders a result of `token.get`; `headers` and `curl` are results of another method and are not rendered here.
    ///
    /// - Throws: `Failure.badAnswer` when a member is missing, or has bytes that would mean something else in this format.
    func render(_ result: JSONValue, into output: inout SecretBuffer) throws(Failure) {
        switch self {
        case .token:
            try output.append(member: "bearer_token", of: result, free: .zero)
            output.append("\n")
        case .header, .headers, .curl:
            try output.append(authorizationOf: result)
            output.append("\n")
        case .json:
            output.append(result.rawToken)
            output.append("\n")
        case .env: try Self.environment(result, &output)
        case .execCredential: try Self.execCredential(result, &output)
        }
    }

    private static func environment(_ result: JSONValue, _ output: inout SecretBuffer) throws(Failure) {
        var value = SecretBuffer(capacity: 2048)
        try value.append(member: "bearer_token", of: result, free: .zero)
        output.append("CHATAUTH_TOKEN=")
        output.append(shellQuoting: value)
        if let companion = result.member("companion_access_token"), companion.kind == .string {
            value.removeAll()
            try value.append(member: "companion_access_token", of: result, free: .zero)
            output.append("\nCHATAUTH_COMPANION_TOKEN=")
            output.append(shellQuoting: value)
        }
        if let expiresAt = wholeSeconds(result.member("expires_at")) {
            output.append("\nCHATAUTH_EXPIRES_AT=")
            output.append(decimal: expiresAt)
        }
        output.append("\n")
    }

    /// The answer of a credential plug-in (client.authentication.k8s.io/v1).
    private static func execCredential(_ result: JSONValue, _ output: inout SecretBuffer) throws(Failure) {
        guard let token = result.member("bearer_token"), token.kind == .string else {
            throw .badAnswer(.memberMissing("bearer_token"))
        }
        output.append(#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"#)
        if let expiresAt = wholeSeconds(result.member("expires_at")) {
            output.append(#""expirationTimestamp":""#)
            output.append(rfc3339: expiresAt)
            output.append(#"","#)
        }
        output.append(#""token":"#)
        output.append(token.rawToken)
        output.append("}}\n")
    }
}

/// What may not stand in a value, because it would end it or mean something else there.
enum Forbidden {
    /// A zero byte: it ends what C and shells see.
    case zero
    /// Every control byte: a header ends with its line (RFC 9110 §5.5).
    case control
}

extension SecretBuffer {
    /// Appends `Authorization: ` and the scheme and token of a result of `token.get` (RFC 6750 §2.1).
    mutating func append(authorizationOf result: JSONValue) throws(Failure) {
        append("Authorization: ")
        try append(member: "token_type", of: result, free: .control)
        append(" ")
        try append(member: "bearer_token", of: result, free: .control)
    }

    /// Appends the text of a member that is a string and has none of the bytes that are forbidden there.
    mutating func append(member name: StaticString, of object: JSONValue, free forbidden: Forbidden)
        throws(Failure)
    {
        guard let value = object.member(name), value.kind == .string else {
            throw .badAnswer(.memberMissing(name))
        }
        try append(textOf: value, free: forbidden)
    }

    /// Appends the text of a string that has none of the bytes that are forbidden there.
    mutating func append(textOf value: JSONValue, free forbidden: Forbidden) throws(Failure) {
        // Without escapes there is no control byte: JSON does not have them (RFC 8259 §7), but for DEL.
        let isClean: Bool
        if value.hasEscapes {
            guard let secret = value.secret else { return }
            isClean = secret.withSpan { $0.isFree(of: forbidden) }
            append(secret)
        } else {
            isClean = forbidden == .zero || value.raw.isFree(of: forbidden)
            append(value.raw)
        }
        guard isClean else { throw .badAnswer(.controlBytes) }
    }

    /// Appends `value` as it stands between the quotes of a configuration file of curl.
    mutating func append(curlQuoting value: borrowing SecretBuffer) {
        value.withSpan { bytes in
            for index in bytes.indices {
                let byte = bytes[index]
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append("\\") }
                append(byte)
            }
        }
    }

    /// Appends `value` in single quotes, which no shell looks into (POSIX 2.2.2).
    mutating func append(shellQuoting value: borrowing SecretBuffer) {
        append("'")
        value.withSpan { bytes in
            for index in bytes.indices {
                if bytes[index] == UInt8(ascii: "'") { append("'\\''") } else { append(bytes[index]) }
            }
        }
        append("'")
    }
}

extension Span<UInt8> {
    func isFree(of forbidden: Forbidden) -> Bool {
        for index in indices {
            let byte = self[index]
            switch forbidden {
            case .zero where byte == 0: return false
            case .control where byte < 0x20 || byte == 0x7F: return false
            default: continue
            }
        }
        return true
    }
}
