/// Which release this is.
package enum Version {
    /// The number of the release (Semantic Versioning 2.0).
    package static let text = "0.1.0"
}
