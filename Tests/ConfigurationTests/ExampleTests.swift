import Configuration
import CredentialCore
import Glibc
import Testing

@Suite struct `Examples and manual` {
    /// Knows every name.
    private struct AllNames: NameResolver {
        func uid(of user: String) throws(NameResolutionFailure) -> UInt32? { 1 }
        func gid(of group: String) throws(NameResolutionFailure) -> UInt32? { 2 }
    }

    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

    private func text(_ path: String) throws -> String {
        let file = try #require(fopen(Self.root + "/" + path, "re"))
        defer { fclose(file) }
        var content = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&content, 1, content.count, file)
        return String(decoding: content[..<count], as: UTF8.self)
    }

    /// The example with its commented keys in force.
    private func uncommented() throws -> String {
        try text("etc/chatauthd.toml").split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("#") && line.dropFirst().first?.isLowercase == true ? line.dropFirst() : line
        }.joined(separator: "\n")
    }

    @Test func `the example as it is changes nothing`() throws {
        let file = Configuration.File(
            path: "chatauthd.toml", bytes: Array(try text("etc/chatauthd.toml").utf8), role: .main)
        let settings = try Configuration.read([file], defaults: .system, names: AllNames()).settings
        #expect(settings == DaemonSettings(limits: .system))
    }

    @Test func `what the example shows are the defaults`() throws {
        let file = Configuration.File(
            path: "chatauthd.toml", bytes: Array(try uncommented().utf8), role: .main)
        var settings = try Configuration.read([file], defaults: .system, names: AllNames()).settings
        #expect(settings.admins.count == 1)
        #expect(settings.fetchWorker == "/usr/lib/chatauth/chatauth-fetch")
        settings.admins = []
        settings.fetchWorker = nil
        #expect(settings == DaemonSettings(limits: .system))
    }

    @Test(arguments: [
        ("support-bot", ["support-bot"]), ("local-file", ["metrics", "mailer", "kiosk"]),
        ("oauth", ["calendar", "reports"]), ("jwt", ["kindly-bot", "chatbase-bot"]),
        ("chat-platforms", ["shop-bot", "help-agent", "community"]),
        ("other-platforms", ["front-desk", "tickets"]),
    ])
    func `the examples of accounts are without fault`(_ name: String, _ accounts: [String]) throws {
        let file = Configuration.File(
            path: name, bytes: Array(try text("etc/accounts.d/\(name).toml.example").utf8), role: .accounts)
        let configuration = try Configuration.read([file], defaults: .system, names: AllNames())
        #expect(configuration.accounts.map(\.name.text) == accounts)
        #expect(configuration.accounts.allSatisfy { $0.source != nil && !$0.access.use.isEmpty })
    }

    @Test(arguments: ["support-bot", "local-file", "oauth", "jwt", "chat-platforms", "other-platforms"])
    func `the manual has every key of the examples of accounts`(_ name: String) throws {
        let manual = try text("man/chatauthd.toml.5")
        for line in try text("etc/accounts.d/\(name).toml.example").split(separator: "\n") {
            guard let key = line.split(separator: " ").first, !"#[".contains(line.first ?? "#") else {
                continue
            }
            #expect(
                manual.split(separator: "\n").contains {
                    ($0.hasPrefix(".It Cm ") || $0.hasPrefix(".Cm "))
                        && $0.split(whereSeparator: { " ,".contains($0) }).contains(key)
                }, "\(key)")
        }
    }

    @Test func `the manual has every key of the example`() throws {
        let manual = try text("man/chatauthd.toml.5")
        for line in try uncommented().split(separator: "\n") where !line.hasPrefix("#") {
            guard let key = line.split(separator: " ").first, !key.hasPrefix("[") else { continue }
            #expect(manual.contains(".It Cm \(key)\n"), "\(key)")
        }
    }
}
