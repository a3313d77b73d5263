extension SocialPlusDefinition.Region {
    /// Where the network's API is, unless a base URL is configured (R154).
    package var baseText: String { "https://apix." + rawValue + ".amity.co" }

    // What the vendor's own clients ask.
    private var clientsText: String { "https://api." + rawValue + ".amity.co" }

    fileprivate static func at(_ url: HTTPURL) -> Self? {
        allCases.first { region in
            [region.baseText, region.clientsText].contains { url.text == $0 || url.text.hasPrefix($0 + "/") }
        }
    }
}

extension SocialPlusDefinition {
    /// Where the network is, for people: the region's name, whichever way it was configured, or else the address.
    package var place: String { (region ?? Region.at(baseURL))?.rawValue ?? baseURL.text }
}
