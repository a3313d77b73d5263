/// The kinds of stand-in that there are: who adds one adds it here, and nothing else has to know.
enum StandInList {
    /// One of each, without settings; no two have the same noun.
    static func fresh() -> [any StandIn] {
        [
            CustomerBackend(), Kindly(), IdentityProvider(), Chatbase(), SocialPlus(),
        ]
    }
}
