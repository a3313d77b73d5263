import JSON

/// What a sign-in has begun, and how the platform tells it.
struct SocialPlusSession {
    let login: SocialPlusLogin
    let displayName: String
    /// Unix milliseconds.
    let issuedAt: Int64
    /// Seconds.
    let lifetime: Int64

    private var expiresAt: Int64 { issuedAt + lifetime * 1000 }

    /// The claims of the access token; `exp` is a whole second, never before the instant that the answer tells.
    func claims(id: String) -> ControlObject {
        ControlObject([
            ("userId", .text(login.userID)), ("deviceId", .text(login.deviceID)),
            ("iat", .integer(issuedAt / 1000)), ("exp", .integer((expiresAt + 999) / 1000)),
            ("jti", .text(id)),
        ])
    }

    func answer(_ token: String, refreshToken: String) -> Answer {
        Answer(status: 200, date: issuedAt) { json in
            json.beginObject()
            json.key("accessToken")
            json.string(token)
            json.key("refreshToken")
            json.string(refreshToken)
            json.key("issuedAt")
            json.string(CalendarText.rfc3339(issuedAt))
            json.key("expiresAt")
            json.string(CalendarText.rfc3339(expiresAt))
            json.key("users")
            json.beginArray()
            json.beginObject()
            json.key("userId")
            json.string(login.userID)
            json.key("displayName")
            json.string(displayName)
            json.key("isGlobalBan")
            json.bool(false)
            json.endObject()
            json.endArray()
            json.key("files")
            json.beginArray()
            json.endArray()
            json.key("lastCachePurge")
            json.null()
            json.endObject()
        }
    }
}

/// Where the network would push to, one place for each device.
struct SocialPlusPush: Sendable {
    /// A wanted place, within the limits of its fields.
    struct Registration: Sendable {
        let device, user, platform, token: String

        init(_ body: ControlObject) throws(SocialPlusFailure) {
            device = try body.required("deviceId", SocialPlusLogin.deviceLengths)
            user = try body.required("userId", SocialPlusLogin.userLengths)
            platform = try body.required("platform", 1...10)
            guard platform == "android" || platform == "ios" else { throw .invalid(field: "platform") }
            token = try body.required("token", platform == "ios" ? 1...400 : 1...1000)
            guard platform == "android" || token.utf8.allSatisfy(Self.isHexadecimal) else {
                throw .invalid(field: "token")
            }
            _ = try body.field("provider", 0...100)
        }

        private static func isHexadecimal(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
    }

    private var registrations: [String: Registration] = [:]

    mutating func register(_ registration: Registration) { registrations[registration.device] = registration }

    mutating func unregister(_ device: String) { registrations[device] = nil }

    func write(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("registrations")
        json.beginArray()
        for (_, registration) in registrations.sorted(by: { $0.key < $1.key }) {
            json.beginObject()
            json.key("deviceId")
            json.string(registration.device)
            json.key("userId")
            json.string(registration.user)
            json.key("platform")
            json.string(registration.platform)
            json.key("token")
            json.string(registration.token)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
