package import Secrets

/// A request to a platform, without what the broker adds to send it: number, time-outs, and whose connections it may share.
package struct PlatformRequest: Sendable {
    /// Where it goes.
    package let url: HTTPURL
    /// How.
    package let method: HTTPMethod
    /// Names are tokens, values have no CR, LF or NUL.
    package let headers: [(name: String, value: SecretBytes)]
    /// What is sent; nil: nothing.
    package let body: SecretBytes?

    /// Takes the parts.
    package init(
        url: HTTPURL, method: HTTPMethod, headers: [(name: String, value: SecretBytes)],
        body: SecretBytes? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }
}
