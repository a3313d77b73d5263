import Glibc
import Testing

/// docs/sandbox.md says what the program does: its examples are run, its tables compared.
@Suite struct `Sandbox documentation` {
    private let text: String

    init() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        text = try run("/bin/cat", [root + "/docs/sandbox.md"]).output
    }

    /// The fenced blocks in their order, with their language.
    private var blocks: [(language: Substring, content: String)] {
        var blocks: [(language: Substring, content: String)] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside.toggle()
                if isInside { blocks.append((line.dropFirst(3), "")) }
            } else if isInside {
                blocks[blocks.count - 1].content += line + "\n"
            }
        }
        return blocks
    }

    @Test func `every example does what stands below it`() throws {
        guard access("/usr/bin/curl", X_OK) == 0 else { return print("SKIPPED: curl is missing") }
        let sandbox = try RunningSandbox()
        var count = 0
        for (example, expected) in zip(blocks, blocks.dropFirst()) where example.language == "sh" {
            let script = "SANDBOX=http://127.0.0.1:\(sandbox.port)\n" + example.content
            let result = try run("/bin/sh", ["-euc", script])
            #expect(result.status == 0, "\(example.content)")
            #expect(matches(result.output, expected.content), "\(example.content)\n\(result.output)")
            count += 1
        }
        #expect(count >= 10)
    }

    // An ellipsis stands for any text within a line.
    private func matches(_ output: String, _ pattern: String) -> Bool {
        let (lines, patterns) = (output.split(separator: "\n"), pattern.split(separator: "\n"))
        return lines.count == patterns.count
            && zip(lines, patterns).allSatisfy { line, pattern in
                var rest = line
                let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
                guard rest.hasPrefix(parts[0]) else { return false }
                rest = rest.dropFirst(parts[0].count)
                for part in parts.dropFirst() {
                    guard let range = part.isEmpty ? rest.endIndex..<rest.endIndex : rest.lastRange(of: part)
                    else {
                        return false
                    }
                    rest = rest[range.upperBound...]
                }
                return rest.isEmpty
            }
    }

    @Test(arguments: [
        ("PUT", "/_sandbox/backend/x", #"{"?":0}"#), ("PUT", "/_sandbox/backend/x", #"{"expiry":"?"}"#),
        ("PUT", "/_sandbox/backend/x", #"{"token_format":"?"}"#),
        ("PUT", "/_sandbox/backend/x", #"{"fields":{"?":""}}"#),
        ("PUT", "/_sandbox/backend/x", #"{"alg":"?"}"#),
        ("PUT", "/_sandbox/backend/x", #"{"signature":"?"}"#),
        ("PUT", "/_sandbox/backend/x", #"{"at_hash":"?"}"#),
        ("PUT", "/_sandbox/kindly/x", #"{"?":0}"#), ("PUT", "/_sandbox/kindly/x", #"{"strategy":"?"}"#),
        ("PUT", "/_sandbox/kindly/x", #"{"expiry":"?"}"#),
        ("PUT", "/_sandbox/kindly/x", #"{"issuers":[{"issuer":"x","idp":"x","?":0}]}"#),
        ("POST", "/_sandbox/kindly/x/mint", #"{"?":0}"#),
        ("POST", "/_sandbox/kindly/x/mint", #"{"alg":"?"}"#),
        ("PUT", "/_sandbox/idp/x", #"{"?":0}"#), ("PUT", "/_sandbox/idp/x", #"{"issuer_mismatch":"?"}"#),
        ("PUT", "/_sandbox/idp/x", #"{"access_token_format":"?"}"#),
        ("PUT", "/_sandbox/idp/x", #"{"expires_in":"?"}"#),
        ("PUT", "/_sandbox/idp/x", #"{"clients":[{"client_id":"x","?":0}]}"#),
        ("POST", "/_sandbox/idp/x/grant", #"{"?":0}"#), ("POST", "/_sandbox/idp/x/mint", #"{"?":0}"#),
        ("POST", "/_sandbox/idp/x/rotate", #"{"?":0}"#),
        ("PUT", "/_sandbox/idp/x", #"{"assertion_issuers":[{"issuer":"x","public_key":"x","alg":"?"}]}"#),
        ("POST", "/_sandbox/idp/x/device", #"{"user_code":"x","decision":"?"}"#),
        ("POST", "/_sandbox/idp/x/faults", #"{"fault":"empty","route":"?"}"#),
        ("POST", "/_sandbox/kindly/x/faults", #"{"fault":"empty","route":"?"}"#),
        ("PUT", "/_sandbox/chatbase/x", #"{"?":0}"#), ("PUT", "/_sandbox/socialplus/x", #"{"?":0}"#),
        ("PUT", "/_sandbox/socialplus/x", #"{"customer_keys":[{"alg":"?"}]}"#),
        ("POST", "/_sandbox/chatbase/x/mint", #"{"?":0}"#),
        ("POST", "/_sandbox/socialplus/x/mint", #"{"?":0}"#),
        ("POST", "/_sandbox/chatbase/x/faults", #"{"fault":"empty","route":"?"}"#),
        ("POST", "/_sandbox/socialplus/x/faults", #"{"fault":"empty","route":"?"}"#),
        ("POST", "/_sandbox/socialplus/x/users", #"{"userId":"u","state":"?"}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"?"}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"hang","at":"?"}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"wrong_type","kind":"?"}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"status","status":500,"?":0}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"huge","?":0}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"drip","?":0}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"headers","?":0}"#),
        ("POST", "/_sandbox/backend/x/faults", #"{"fault":"retry_after","?":0}"#),
    ])
    func `every word that the program knows stands in it`(method: String, target: String, body: String) throws
    {
        let answer = try RunningSandbox().json(method, target, body: body, status: 400)
        let message = try #require(answer["error"]?.text)
        let start = try #require(message.lastRange(of: "known: "))
        let words = message[start.upperBound...].split(separator: ", ")
        #expect(words.count > 1)
        for word in words { #expect(text.contains("`\(word)`"), "\(word) is not documented") }
    }
}

extension StringProtocol where SubSequence == Substring {
    /// Where `other` occurs last.
    fileprivate func lastRange(of other: some StringProtocol) -> Range<Index>? {
        var start = endIndex
        while true {
            if self[start...].hasPrefix(other) { return start..<index(start, offsetBy: other.count) }
            guard start > startIndex else { return nil }
            start = index(before: start)
        }
    }
}
