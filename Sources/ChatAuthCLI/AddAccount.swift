import ChatAuthAPI
import JSON
import Secrets

/// A user or a group that a rule names.
struct Principal {
    let isGroup: Bool
    let name: Argument

    /// Reads `user:NAME` or `group:NAME`.
    init?(_ text: Argument) {
        let prefixes: [(StaticString, Bool)] = [("user:", false), ("group:", true)]
        for (prefix, isGroup) in prefixes where text.count > prefix.utf8CodeUnitCount {
            let length = prefix.utf8CodeUnitCount
            guard (0..<length).allSatisfy({ text[$0] == prefix.utf8Start[$0] }) else { continue }
            let name = text.dropFirst(length)
            guard name.count <= 256, name.span.isFree(of: .control) else { return nil }
            self.isGroup = isGroup
            self.name = name
            return
        }
        return nil
    }
}

/// `account add`.
extension Session {
    func addAccount() throws(Failure) {
        let file: Argument? = invocation.operands.count > 1 ? invocation.operands[1] : nil
        let source = invocation.value(.source)
        let settings = invocation.value(.settings)
        let isRead = [file, settings, source].count { $0.map { $0 == "-" } ?? false }
        guard isRead < 2 else {
            throw .usage(.standardInputTwice, invocation.command)
        }
        // Whoever gives a definition and forgets to say so would get an account without anything, and no error. With a provider an
        // account is described, whatever else waits there, as in a loop that reads names.
        if file == nil, settings == nil, source == nil, !invocation.has(.provider), Input.isWaiting {
            throw .usage(.standardInputUnread, invocation.command)
        }
        var members = JSONWriter()
        members.beginObject()
        members.member("account", try operand(0))
        if let file { try copyMembers(of: file, to: &members) }
        members.member("provider", text: .provider, of: invocation)
        if let settings { try copy("settings", settings, to: &members) }
        if let source { try copy("source", source, to: &members) }
        allow(&members)
        if invocation.has(.noAutostart) {
            members.key("autostart")
            members.bool(false)
        }
        members.endObject()
        let params = members.finish()
        // What stands in a file may be a header's value, which is a secret to the operator.
        try path(for: .admin).requireTrust()
        try act(.accountAdd) { (writer) throws(Failure) in params.withSpan { writer.raw($0) } }
    }

    /// Copies every member but `account`, which the command line names; one that an option gives too is refused.
    private func copyMembers(of file: Argument, to members: inout JSONWriter) throws(Failure) {
        try withObject(file) { (root) throws(Failure) in
            var cursor = root.members()
            while let member = cursor.next() {
                let key = member.key
                if key.isString("account") { continue }
                let isGivenTwice =
                    key.isString("provider") && invocation.has(.provider)
                    || key.isString("settings") && invocation.has(.settings)
                    || key.isString("source") && invocation.has(.source)
                    || key.isString("autostart") && invocation.has(.noAutostart)
                    || key.isString("allow") && (invocation.has(.allowUse) || invocation.has(.allowOperate))
                guard !isGivenTwice else {
                    throw .usage(.givenTwice(Self.constant(key)), invocation.command)
                }
                members.key(named: key.string ?? "")
                members.raw(lines: member.value)
            }
        }
    }

    private static func constant(_ key: JSONValue) -> StaticString {
        if key.isString("provider") { return "provider" }
        if key.isString("settings") { return "settings" }
        if key.isString("source") { return "source" }
        return key.isString("allow") ? "allow" : "autostart"
    }

    private func copy(_ key: StaticString, _ file: Argument, to members: inout JSONWriter) throws(Failure) {
        members.key(key)
        try withObject(file) { (root) throws(Failure) in members.raw(lines: root) }
    }

    private func withObject(_ file: Argument, _ body: (JSONValue) throws(Failure) -> Void) throws(Failure) {
        let text = try Input.read(file, limit: Input.largestJSON)
        var document = JSONDocument(limits: JSONLimits(length: Input.largestJSON + 2))
        try text.withSpan { (span) throws(Failure) in
            let root: JSONValue
            do throws(JSONFailure) {
                root = try document.parse(span)
            } catch {
                throw .badInput(path: file.text, .notAnObject)
            }
            guard root.kind == .object else { throw .badInput(path: file.text, .notAnObject) }
            try body(root)
        }
    }

    private func allow(_ members: inout JSONWriter) {
        guard invocation.has(.allowUse) || invocation.has(.allowOperate) else { return }
        members.key("allow")
        members.beginObject()
        rules("use", .allowUse, &members)
        rules("operate", .allowOperate, &members)
        members.endObject()
    }

    private func rules(_ role: StaticString, _ option: Option, _ members: inout JSONWriter) {
        guard invocation.has(option) else { return }
        members.key(role)
        members.beginArray()
        invocation.forEachValue(option) { text in
            guard let principal = Principal(text) else { return }
            members.beginObject()
            members.member(principal.isGroup ? "group" : "user", principal.name)
            members.endObject()
        }
        members.endArray()
    }
}

extension JSONWriter {
    /// Writes a value as it came, in one line: between values JSON may have line ends, inside strings it has none (RFC 8259 §7).
    fileprivate mutating func raw(lines value: JSONValue) {
        var line = SecretBuffer(capacity: value.rawToken.count)
        for index in value.rawToken.indices {
            let byte = value.rawToken[index]
            line.append(byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? UInt8(ascii: " ") : byte)
        }
        line.withSpan { raw($0) }
    }
}
