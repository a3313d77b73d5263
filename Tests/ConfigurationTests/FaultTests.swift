import Configuration
import CredentialCore
import Testing

/// One defect in the source of one account, and what is said of it.
struct SourceDefect: Sendable, CustomTestStringConvertible {
    let text: String
    let key: String
    let problem: DefinitionProblem

    init(_ text: String, _ key: String, _ problem: DefinitionProblem) {
        self.text = text
        self.key = key
        self.problem = problem
    }

    var testDescription: String { String(text.map { $0 == "\n" ? " " : $0 }) }
}

private let http = "kind = \"http\"\nurl = \"https://b.example\"\n"
private let defects: [SourceDefect] = [
    .init("", "source.kind", .missing),
    .init("kind = 1", "source.kind", .wrongType(expected: .string, found: .integer)),
    .init(
        "kind = \"htp\"", "source.kind",
        .nearly("http", of: ["static", "file", "http", "oauth", "jwt", "rpc"])),
    .init("kind = \"saml\"", "source.kind", .notOneOf(["static", "file", "http", "oauth", "jwt", "rpc"])),
    .init("kind = \"exec\"\nprogram = \"/bin/x\"", "source.kind", .notAvailable),
    .init("kind = \"rpc\"\nurl = \"https://b.example\"", "source.url", .unknownKey(nearest: nil)),
    .init("kind = \"static\"", "source", .withoutToken),
    .init("kind = \"static\"\nid_token = \"eyJ\"", "source.id_token", .literalSecret),
    .init(
        "kind = \"static\"\nid_token = 3", "source.id_token",
        .wrongType(expected: .reference, found: .integer)),
    .init("kind = \"static\"\nid_token = { secret = \"-n\" }", "source.id_token.secret", .entryName),
    .init(
        "kind = \"static\"\nid_token = { secret = \"n\", file = \"/a\" }", "source.id_token", .notOneReference
    ),
    .init("kind = \"static\"\nid_token = {}", "source.id_token", .notOneReference),
    .init(
        "kind = \"static\"\nid_token = { file = \"/a\", credential = \"b\" }", "source.id_token",
        .notOneReference),
    .init("kind = \"static\"\nid_token = { file = \"a/b\" }", "source.id_token.file", .relativePath),
    .init("kind = \"static\"\nid_token = { file = \"/a\\u0000\" }", "source.id_token.file", .malformedText),
    .init(
        "kind = \"static\"\nid_token = { credential = \"../x\" }", "source.id_token.credential",
        .credentialName),
    .init(
        "kind = \"static\"\nid_token = { file = \"/a\", prefx = \"\" }", "source.id_token.prefx",
        .unknownKey(nearest: nil)),
    .init(
        "kind = \"static\"\nid_token = { file = \"/a\" }\nissuer = \"a b\"", "source.issuer", .malformedText),
    .init(
        "kind = \"static\"\nid_token = { file = \"/a\" }\nexpires_at = 2030-01-01", "source.expires_at",
        .moment),
    .init(
        "kind = \"static\"\nid_token = { file = \"/a\" }\nexpires_at = -1", "source.expires_at", .moment),
    .init("kind = \"file\"", "source.path", .missing),
    .init("kind = \"file\"\npath = \"x\"", "source.path", .relativePath),
    .init("kind = \"file\"\npath = \"/x\"\ncredential = \"y\"", "source", .notOneReference),
    .init(
        "kind = \"file\"\npath = \"/x\"\nformat = \"yaml\"", "source.format", .notOneOf(["token", "json"])),
    .init(
        "kind = \"file\"\npath = \"/x\"\nfields = { token = \"t\" }", "source.fields", .fieldsWithoutJSON),
    .init("kind = \"http\"", "source.url", .missing),
    .init("kind = \"http\"\nurl = \"http://b.example\"", "source.url", .url(.plainTextNotLoopback)),
    .init("kind = \"http\"\nurl = \"ftp://b.example\"", "source.url", .url(.schemeNotAllowed)),
    .init("kind = \"http\"\nurl = \"https://u:p@b.example\"", "source.url", .url(.userInformation)),
    .init(http + "method = \"PUT\"", "source.method", .notOneOf(["GET", "POST"])),
    .init(http + "metod = \"GET\"", "source.metod", .unknownKey(nearest: "method")),
    .init(http + "method = \"GET\"\nbody = \"x\"", "source.body", .bodyNotTaken),
    .init(
        http + "body = \"{acount}\"", "source.body",
        .placeholder(["account", "reason", "chat_id", "user_id"])),
    .init(
        http + "body = '{\"a\":\"{bearer}\"}'", "source.body",
        .placeholder(["account", "reason", "chat_id", "user_id"])),
    .init("kind = \"http\"\nurl = \"https://b.example/?a={account}\"", "source.url", .placeholderHere),
    .init(http + "headers = { X-A = \"{account}\" }", "source.headers.X-A", .placeholderHere),
    .init(http + "answer = \"yaml\"", "source.answer", .notOneOf(["json", "text"])),
    .init(http + "answer = \"text\"\nfields = { token = \"t\" }", "source.fields", .fieldsWithText),
    .init(http + "headers = { x-server-key = \"k\" }", "source.headers.x-server-key", .literalSecret),
    .init(http + "content_type = \"a\\r\\nb\"", "source.content_type", .malformedText),
    .init(http + "timeout = 0", "source.timeout", .outOfRange(from: 1, to: 60)),
    .init(http + "timeout = nan", "source.timeout", .outOfRange(from: 1, to: 60)),
    .init(http + "timeout = 60.5", "source.timeout", .outOfRange(from: 1, to: 60)),
    .init(http + "timeout = \"8\"", "source.timeout", .wrongType(expected: .number, found: .string)),
    .init(http + "ca_file = \"ca.pem\"", "source.ca_file", .relativePath),
    .init(http + "proxy = \"proxy.example\"", "source.proxy", .proxy),
    .init(http + "proxy = \"http://proxy.example\"", "source.proxy", .proxy),
    .init(http + "proxy = \"http://u:p@proxy.example:1\"", "source.proxy", .proxy),
    .init(http + "proxy = \"socks5://proxy.example:1\"", "source.proxy", .proxy),
    .init(http + "headers = { \"X Y\" = \"1\" }", "source.headers.\"X Y\"", .headerName),
    .init(http + "headers = { \"X\\r\\n\" = \"1\" }", "source.headers.\"X\\u{d}\\u{a}\"", .headerName),
    .init(http + "headers = { Host = \"1\" }", "source.headers.Host", .headerReserved),
    .init(http + "headers = { content-LENGTH = \"1\" }", "source.headers.content-LENGTH", .headerReserved),
    .init(
        http + "headers = { Transfer-Encoding = \"1\" }", "source.headers.Transfer-Encoding", .headerReserved),
    .init(http + "headers = { Connection = \"1\" }", "source.headers.Connection", .headerReserved),
    .init(http + "headers = { X-A = \"1\\r\\nX-B: 2\" }", "source.headers.X-A", .headerValue),
    .init(http + "headers = { X-A = \"1\\u0000\" }", "source.headers.X-A", .headerValue),
    .init(http + "headers = { X-A = \" 1\" }", "source.headers.X-A", .headerValue),
    .init(http + "headers = { X-A = \"1\", x-a = \"2\" }", "source.headers.x-a", .headerTwice),
    .init(
        http + "headers = { X-A = { file = \"/a\", prefix = \"\\n\" } }", "source.headers.X-A.prefix",
        .headerValue),
    .init(
        http + "headers = { authorization = \"Bearer x\" }", "source.headers.authorization", .literalSecret),
    .init(
        http + "headers = { X-A = 1 }", "source.headers.X-A", .wrongType(expected: .string, found: .integer)),
    .init(http + "fields = { issuer = \"iss\" }", "source.fields", .fieldsWithoutToken),
    .init(http + "fields = { token = \"a..b\" }", "source.fields.token", .memberName),
    .init(
        http + "fields = { tken = \"a\", token = \"t\" }", "source.fields.tken", .unknownKey(nearest: "token")
    ),
]

private let manyBrackets = "x = " + String(repeating: "[", count: 100) + String(repeating: "]", count: 100)

private func dots(_ count: Int) -> String { String(repeating: "a.", count: count) + "b = 1" }

private let notTOML: [(String, ConfigurationProblem.Syntax)] = [
    ("[account", .unexpectedEnd),
    ("[<]", .malformed(.keyExpected)),
    ("[[!", .malformed(.keyExpected)),
    ("= 1", .malformed(.keyExpected)),
    ("x y = 1", .malformed(.equalsExpected)),
    ("x: 1", .malformed(.equalsExpected)),
    ("x = bare", .malformed(.valueExpected)),
    ("x = True", .malformed(.valueExpected)),
    ("x = ", .unexpectedEnd),
    ("x = \"a\nb\"", .malformed(.controlCharacter)),
    ("x = 1 2", .malformed(.lineEndExpected)),
    ("[a]x = 1", .malformed(.lineEndExpected)),
    ("[a b]", .malformed(.headerEndExpected)),
    ("x = [1 2]", .malformed(.arrayContinuation)),
    ("x = { a = 1 b = 2 }", .malformed(.tableContinuation)),
    ("x = { a = 1, }", .malformed(.tableContinuation)),
    ("x = {\n a = 1 }", .malformed(.tableContinuation)),
    ("x = \"\\q\"", .malformed(.escape)),
    ("x = 012", .malformed(.number)),
    ("x = 127.0.0.1", .malformed(.number)),
    ("x = 99999999999999999999", .malformed(.number)),
    ("x = 2020-13-01T00:00:00Z", .malformed(.time)),
    ("x = 1\nx = 2", .duplicateKey),
    (manyBrackets, .tooDeep),
    (dots(600), .tooDeep),
    (dots(200), .tooDeep),
]

@Suite struct `Faults in files` {
    @Test(arguments: defects)
    func `each defect of a source is named exactly`(_ defect: SourceDefect) {
        let file = accounts("a.toml", "[account.x.source]\n" + defect.text)
        do throws(ConfigurationFailure) {
            _ = try read(file)
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.key) == ["account.x." + defect.key])
            #expect(error.faults.map(\.problem) == [.value(defect.problem)])
            #expect(error.faults.allSatisfy { $0.position != nil })
        }
    }

    @Test(arguments: [
        ("use = 1", "allow.use", DefinitionProblem.wrongType(expected: .list, found: .integer)),
        ("use = [1]", "allow.use[0]", .wrongType(expected: .table, found: .integer)),
        ("use = [{}]", "allow.use[0]", .ruleWithoutUserOrGroup),
        ("use = [{ user = \"chat\" }, { user = \"nobody-knows\" }]", "allow.use[1].user", .unknownUser),
        ("use = [{ user = \"broken\" }]", "allow.use[0].user", .nameService(code: 5)),
        ("use = [{ group = \"none\" }]", "allow.use[0].group", .unknownGroup),
        ("use = [{ user = -1 }]", "allow.use[0].user", .outOfRange(from: 0, to: 4_294_967_294)),
        ("use = [{ user = 4294967295 }]", "allow.use[0].user", .outOfRange(from: 0, to: 4_294_967_294)),
        (
            "use = [{ user = true }]", "allow.use[0].user",
            .wrongType(expected: .nameOrNumber, found: .boolean)
        ),
        ("use = [{ user = \"chat\", unit = \"k*.service\" }]", "allow.use[0].unit", .unitName),
        ("use = [{ user = \"chat\", uid = 3 }]", "allow.use[0].uid", .unknownKey(nearest: nil)),
        ("use = [{ usr = \"chat\", user = \"chat\" }]", "allow.use[0].usr", .unknownKey(nearest: "user")),
        ("uze = []", "allow.uze", .unknownKey(nearest: "use")),
    ])
    func `each defect of a rule is named exactly`(_ text: String, _ key: String, _ problem: DefinitionProblem)
    {
        do throws(ConfigurationFailure) {
            _ = try read(accounts("a.toml", "[account.x.allow]\n" + text))
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.key) == ["account.x." + key])
            #expect(error.faults.map(\.problem) == [.value(problem)])
        }
    }

    @Test(arguments: [
        (
            "provider = \"other\"",
            DefinitionProblem.notOneOf(["generic", "oauth", "kindly", "chatbase", "socialplus"])
        ),
        (
            "provider = \"kindely\"\nbot_key = \"x\"",
            .nearly("kindly", of: ["generic", "oauth", "kindly", "chatbase", "socialplus"])
        ),
    ])
    func `a provider that is not there is refused`(_ text: String, _ problem: DefinitionProblem) {
        do throws(ConfigurationFailure) {
            _ = try read(accounts("a.toml", "[account.x]\n" + text))
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.problem) == [.value(problem)])
        }
    }

    @Test(arguments: notTOML)
    func `a text that is not TOML is refused with its place`(
        _ text: String, _ syntax: ConfigurationProblem.Syntax
    ) {
        do throws(ConfigurationFailure) {
            _ = try read(main(text))
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.problem) == [.syntax(syntax)])
            #expect(error.faults.allSatisfy { ($0.position?.line ?? 0) > 0 })
        }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        let file = Configuration.File(
            path: "chatauthd.toml", bytes: [0x78, 0x3D, 0x22, 0xFF, 0xFE, 0x22], role: .main)
        do throws(ConfigurationFailure) {
            _ = try read(file)
            Issue.record("accepted")
        } catch {
            #expect(error.faults.map(\.problem) == [.syntax(.notUTF8)])
        }
    }
}
