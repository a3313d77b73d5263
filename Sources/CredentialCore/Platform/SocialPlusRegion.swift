extension SocialPlusDefinition.Region {
    /// Where the network's API is, unless a base URL is configured (R154).
    package var baseText: String { "https://apix." + rawValue + ".amity.co" }
}
