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
}
