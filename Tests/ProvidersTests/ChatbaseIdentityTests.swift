import CredentialCore
import Providers
import Secrets
import Testing

@Suite struct `Identity at Chatbase` {
    private let device = DeviceID(high: 1, low: 2)

    private func chatting() throws -> ChatbaseIdentity {
        var identity = ChatbaseIdentity()
        try identity.report(userID: "u-1", conversationID: "c-1")
        return identity
    }

    @Test func `R98: the current user is what the chatting client reported, also before a sign-in`() throws {
        var identity = ChatbaseIdentity()
        #expect(identity.currentUserID == nil && identity.currentConversationID == nil)
        try identity.report(userID: "u-1", conversationID: nil)
        #expect(identity.currentUserID == "u-1" && identity.currentConversationID == nil)
        try identity.report(userID: nil, conversationID: "c-1")
        #expect(identity.currentUserID == "u-1" && identity.currentConversationID == "c-1")
        try identity.report(userID: nil, conversationID: nil)
        #expect(try identity == chatting())
    }

    @Test func `R98, R103: each sign-in forgets user and conversation, even of the same user`() throws {
        var identity = try chatting()
        identity.identified(on: device)
        #expect(identity.currentUserID == nil && identity.currentConversationID == nil)
        identity = try chatting()
        identity.identified(on: device, userID: "u-1")
        #expect(identity.currentUserID == "u-1" && identity.currentConversationID == nil)
        identity.identified(on: device, userID: "a\nb")
        #expect(identity.currentUserID == nil)
    }

    @Test func `R80: for which device the server took the token is known, and goes with the identity`() throws
    {
        let other = DeviceID(high: 3, low: 4)
        var identity = ChatbaseIdentity()
        identity.identified(on: device)
        identity.deviceReplaced()
        #expect(identity.verifiedDevice == device)
        try identity.report(userID: "u-1", conversationID: "c-1")
        identity.renewed(on: other)
        #expect(identity.verifiedDevice == other && identity.currentConversationID == "c-1")
        #expect(ChatbaseIdentity(json: identity.json()) == identity)
        identity.deviceReplaced()
        #expect(identity.currentUserID == nil && identity.currentConversationID == nil)
        identity.loggedOut()
        #expect(identity.verifiedDevice == nil)
        #expect(ChatbaseIdentity(json: secret(#"{"verified_device":"x"}"#)) == ChatbaseIdentity())
    }

    @Test func `R101: a sign-out forgets user and conversation`() throws {
        var identity = try chatting()
        identity.loggedOut()
        #expect(identity == ChatbaseIdentity())
    }

    @Test(arguments: ["", "a\nb", "\u{7f}", "\u{85}", String(repeating: "x", count: 257)])
    func `R98: a report that cannot be kept changes nothing`(_ text: String) throws {
        var identity = try chatting()
        #expect(throws: ChatbaseIdentity.Failure.userIDInvalid) {
            try identity.report(userID: text, conversationID: "c-2")
        }
        #expect(throws: ChatbaseIdentity.Failure.conversationIDInvalid) {
            try identity.report(userID: "u-2", conversationID: text)
        }
        #expect(try identity == chatting())
    }

    @Test func `R93: what is stored reads back`() throws {
        var long = ChatbaseIdentity()
        try long.report(
            userID: "\"ä\\" + String(repeating: "\u{1F600}", count: 60), conversationID: "c/2")
        for identity in [ChatbaseIdentity(), try chatting(), long] {
            #expect(ChatbaseIdentity(json: identity.json()) == identity)
        }
        #expect(try shown(chatting().json()) == #"{"user_id":"u-1","conversation_id":"c-1"}"#)
    }

    @Test(
        arguments: [
            (#"{}"#, ""), (#"{"user_id":"u-1","later":[1]}"#, "u-1"), (#"{"user_id":5}"#, ""),
            (#"{"user_id":"a\u0000"}"#, ""), (#"[]"#, nil), ("", nil), ("{", nil),
            ("{\"a\":\"" + String(repeating: "x", count: 20_000) + "\"}", nil),
        ] as [(String, String?)])
    func `R93: what was stored otherwise is read as far as it goes`(_ text: String, _ userID: String?) {
        let identity = ChatbaseIdentity(json: secret(text))
        #expect(identity.map { $0.currentUserID ?? "" } == userID)
    }

    @Test func `R77: a device is a version 4 UUID in upper case`() {
        #expect(DeviceID(high: 0, low: 0).text == "00000000-0000-4000-8000-000000000000")
        #expect(DeviceID(high: .max, low: .max).text == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
        #expect(
            DeviceID(high: 0x6F96_19FF_8B86_AD01, low: 0x342D_00CF_4FC9_64FF).text
                == "6F9619FF-8B86-4D01-B42D-00CF4FC964FF")
        #expect(DeviceID(high: 1, low: 0) != DeviceID(high: 0, low: 1))
    }

    @Test func `R80: a device that was made before is read back, and nothing else is`() {
        let text = DeviceID(high: 0x0123_4567_89AB_CDEF, low: 0x0FED_CBA9_8765_4321).text
        #expect(DeviceID(text)?.text == text)
        #expect(DeviceID(text.lowercased())?.text == text.lowercased())
        for bad in [
            "", "x", String(text.dropLast()), text + "0", "{" + text.dropFirst(),
            "0" + text.dropFirst(8) + "0000000",
        ] {
            #expect(DeviceID(bad) == nil)
        }
    }
}

@Suite struct `Preflight of Chatbase tokens` {
    private static let now = WallTime(seconds: 1_767_225_600)

    private func warnings(_ token: SecretBytes) -> [ChatbaseWarning] {
        ChatbaseClaims.warnings(token, now: Self.now)
    }

    @Test func `R83: a token as the vendor describes it is not warned about`() {
        let token =
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyX2lkIjoidS00MiIsImV4cCI6NDEwMjQ0NDgwMH0"
            + ".M5Ogow5G3-PcFst0bNJ9aPN9UMAc_wfI_Q1iZGutiBY"
        #expect(warnings(secret(token)) == [])
        #expect(ChatbaseClaims.user(of: secret(token)) == "u-42")
        #expect(warnings(jwt(#"{"sub":7,"exp":4102444800}"#)) == [])
    }

    @Test(
        arguments: [
            (#"{"exp":4102444800}"#, [ChatbaseWarning.userMissing]), (#"{"user_id":"u"}"#, [.expiryMissing]),
            (#"{"user_id":"u","exp":1767225600}"#, [.expired]),
            (#"{"user_id":"u","exp":"soon"}"#, [.expiryImplausible]),
            (#"{"user_id":"","sub":null}"#, [.userMissing, .expiryMissing]),
        ] as [(String, [ChatbaseWarning])])
    func `R83: missing claims are warned about`(_ payload: String, _ expected: [ChatbaseWarning]) {
        #expect(warnings(jwt(payload)) == expected)
    }

    @Test func `R83: another algorithm is warned about`() {
        for header in [#"{"alg":"RS256"}"#, #"{"alg":"none"}"#, "{}", #"{"alg":5}"#] {
            #expect(warnings(jwt(#"{"user_id":"u","exp":4102444800}"#, header: header)) == [.notHS256])
        }
    }

    @Test(arguments: ["", "opaque", "a.b", "a.b.c.d", "..", "e30.W10.", "!.e30.x"])
    func `R83: what is no JWT is warned about once`(_ token: String) {
        #expect(warnings(secret(token)) == [.notJWT])
        #expect(ChatbaseClaims.user(of: secret(token)) == nil)
    }

    @Test func `R83: user_id wins over sub`() {
        #expect(ChatbaseClaims.user(of: jwt(#"{"sub":"s","user_id":"u"}"#)) == "u")
        #expect(ChatbaseClaims.user(of: jwt(#"{"sub":"s"}"#)) == "s")
    }
}
