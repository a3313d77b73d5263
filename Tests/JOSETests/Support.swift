import CredentialCore
import Glibc
import JOSE
import JSON
import Secrets
import TestSupport
import Testing

func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8).span) }
func secret(_ bytes: [UInt8]) -> SecretBytes { SecretBytes(copying: bytes.span) }
func bytes(_ secret: SecretBytes) -> [UInt8] { secret.withSpan { span in span.indices.map { span[$0] } } }
func text(_ secret: SecretBytes) -> String { String(decoding: bytes(secret), as: UTF8.self) }

func hex(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
        UInt8(String(digits[$0...($0 + 1)]), radix: 16)
    }
}

func base64URL(_ bytes: [UInt8]) -> String {
    var buffer = SecretBuffer()
    Base64URL.append(encoding: bytes.span, to: &buffer)
    return text(buffer.finish())
}
func base64URL(_ string: String) -> String { base64URL(Array(string.utf8)) }

extension Key {
    /// Whether the key believes the signature.
    func believes(_ signature: [UInt8], of data: [UInt8]) -> Bool { verifies(signature.span, of: data.span) }

    /// The signature of `data`.
    func signature(of data: [UInt8]) throws(SigningFailure) -> [UInt8] {
        var buffer = SecretBuffer()
        try sign(data.span, appendingTo: &buffer)
        return bytes(buffer.finish())
    }
}

/// A token with exactly this header and payload, signed or not.
func token(header: String, payload: String = "{}", key: Key? = nil) throws -> SecretBytes {
    let signed = base64URL(header) + "." + base64URL(payload)
    return secret(signed + "." + (try key.map { base64URL(try $0.signature(of: Array(signed.utf8))) } ?? ""))
}

/// What goes wrong; nil: nothing.
func failure<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

/// A directory with keys that OpenSSL's own command made, and that command.
final class OpenSSL {
    let directory: String

    /// Nil, and a line that says so, where there is no such command.
    init?() {
        guard access("/usr/bin/openssl", X_OK) == 0 else {
            print("SKIPPED: openssl is missing")
            return nil
        }
        var template = Array("/tmp/chatauth-jose-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in Files.names(in: directory) { unlink(directory + "/" + name) }
        rmdir(directory)
    }

    /// Runs `openssl` with the words, in the directory; whether it ended well.
    @discardableResult
    func run(_ words: String) -> Bool {
        system("cd \(directory) && /usr/bin/openssl \(words) >/dev/null 2>&1") == 0
    }

    /// The content of a file.
    func file(_ name: String) throws -> [UInt8] { try #require(Files.bytes(at: directory + "/" + name)) }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = try #require(fopen(directory + "/" + name, "we"))
        defer { fclose(file) }
        try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    /// Makes `name.pem` and `name.pub` for the algorithm.
    func makePair(_ algorithm: SignatureAlgorithm, _ name: String) throws {
        let kind =
            switch algorithm {
            case .es256: "EC -pkeyopt ec_paramgen_curve:P-256"
            case .es384: "EC -pkeyopt ec_paramgen_curve:P-384"
            case .edDSA: "ed25519"
            default: "RSA -pkeyopt rsa_keygen_bits:2048"
            }
        try #require(run("genpkey -algorithm \(kind) -out \(name).pem"))
        try #require(run("pkey -in \(name).pem -pubout -out \(name).pub"))
    }
}

extension JSONValue {
    /// A member as it stands in the text; nil where it is missing.
    func json(_ name: StaticString) -> SecretBytes? {
        guard let value = member(name) else { return nil }
        return SecretBytes(copying: value.rawToken)
    }

    /// The bytes of a member in base64url; nil where it is missing.
    func decoded(_ name: StaticString) -> SecretBytes? {
        guard let value = member(name) else { return nil }
        return Base64URL.decode(value.raw)
    }
}
