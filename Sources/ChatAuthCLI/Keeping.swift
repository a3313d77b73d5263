import ChatAuthAPI
import Glibc
import JSON
import Secrets

/// `grant` and `secret`: what is given to the daemon to keep, from a file or from standard input and never from an argument.
extension Session {
    /// The largest secret that the daemon takes.
    private static let largestSecret = 64 << 10

    func importGrant() throws(Failure) {
        if let account = invocation.value(.account), !account.isAccountName {
            throw .usage(.badAccountName, invocation.command)
        }
        try give(
            .grantImport, "grant", "refresh_token", asking: "refresh token: ", limit: Input.largestToken)
    }

    func setSecret() throws(Failure) {
        try give(.secretSet, "secret", "value", asking: "value: ", limit: Self.largestSecret)
    }

    private func give(
        _ method: Method, _ nameKey: StaticString, _ valueKey: StaticString, asking question: StaticString,
        limit: Int
    ) throws(Failure) {
        // The destination first: nobody types a secret for a socket that is not trusted.
        let path = path(for: method.description.access)
        try path.requireTrust()
        let value = try readValue(question, limit: limit)
        let connection = try Connection(to: path, patience: patience)
        var output = SecretBuffer()
        try connection.call(
            method.rawValue, patience: patience,
            params: { (params) throws(Failure) in
                params.beginObject()
                params.member(nameKey, try operand(0))
                params.key(valueKey)
                value.withSpan { params.string(utf8: $0) }
                params.member("account", text: .account, of: invocation)
                params.endObject()
            },
            answer: { (result) throws(Failure) in
                guard isJSON else { return }
                output.append(result.rawToken)
                output.append("\n")
            })
        if !output.isEmpty { try Output.write(output) }
    }

    private func readValue(_ question: StaticString, limit: Int) throws(Failure) -> SecretBuffer {
        let isExact = invocation.has(.exact)
        if let file = invocation.value(.file) {
            return try Input.secret(file, asking: question, limit: limit, isExact: isExact)
        }
        return try withDash { (dash) throws(Failure) in
            try Input.secret(dash, asking: question, limit: limit, isExact: isExact)
        }
    }

    func deleteGrant() throws(Failure) {
        try act(.grantDelete) { (params) throws(Failure) in
            params.beginObject()
            params.member("grant", try operand(0))
            if invocation.has(.noRevoke) {
                params.key("revoke")
                params.bool(false)
            }
            params.endObject()
        }
    }

    func deleteSecret() throws(Failure) {
        try act(.secretDelete) { (params) throws(Failure) in
            params.beginObject()
            params.member("secret", try operand(0))
            params.endObject()
        }
    }

    /// Hands the master key over as hexadecimal digits; it is bytes of any kind, which JSON does not carry.
    func unseal() throws(Failure) {
        let path = path(for: Method.storeUnseal.description.access)
        try path.requireTrust()
        let key = try readKey()
        var digits = SecretBuffer(capacity: 2 * key.count)
        key.withSpan { bytes in
            for index in bytes.indices {
                for digit in [bytes[index] >> 4, bytes[index] & 15] {
                    digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                }
            }
        }
        try act(.storeUnseal) { (params) throws(Failure) in
            params.beginObject()
            params.key("key")
            digits.withSpan { params.string(utf8: $0) }
            params.endObject()
        }
    }

    private func readKey() throws(Failure) -> SecretBuffer {
        let length = 32
        let dash = strdup("-")
        defer { free(dash) }
        guard let dash else { throw .system(call: "strdup", errno: errno) }
        let source = invocation.value(.keyFile) ?? Argument(dash)
        let key = try Input.read(source, limit: length)
        guard key.count == length else {
            throw .badInput(path: source == "-" ? "standard input" : source.text, .notAKey(length: length))
        }
        return key
    }
}
