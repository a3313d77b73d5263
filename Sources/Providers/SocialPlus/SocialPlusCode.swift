/// The platform's error codes that mean something here.
package enum SocialPlusCode {
    /// Unauthorised: an access token that has ended, an auth token that is none, or a user whom the system banned.
    package static let unauthorized: Int64 = 400_100
    /// More than 100 calls of a user in five seconds.
    package static let rateLimited: Int64 = 400_311
    /// The user is banned from the whole network.
    package static let globallyBanned: Int64 = 400_312
    /// There is no such user, any more.
    package static let notFound: Int64 = 400_400

    /// Why the platform ended a session, as far as its code says.
    ///
    /// "Unauthorised" ends one only where a renewal met it, and says nothing of a ban that is none.
    package static func words(forEndBy code: String?) -> String {
        switch code.flatMap({ Int64($0) }) {
        case unauthorized:
            "it called a renewal unauthorised: its token was not this user's, or the user is banned"
        case globallyBanned: "the user is banned from the network"
        case notFound: "there is no such user, any more"
        default: "the user was banned or deleted"
        }
    }

    /// What leads out of it.
    static func fix(forEndBy code: String?) -> String {
        switch code.flatMap({ Int64($0) }) {
        case unauthorized:
            "have whoever gives the tokens give a new one of this user each time, or lift the user's ban in the console"
        case notFound: "the user was deleted: log in as another"
        default: "lift the ban in the console"
        }
    }
}
