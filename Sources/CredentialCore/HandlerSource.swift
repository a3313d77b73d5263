/// A connected client that has registered to be asked for fresh credentials.
package struct HandlerSource: Equatable, Sendable {
    /// How long its answer is waited for unless configuration says otherwise (R7).
    package static let usualTimeout = Milliseconds.seconds(15)

    /// How long its answer is waited for.
    package let timeout: Milliseconds

    /// Takes what was read and checked.
    package init(timeout: Milliseconds = usualTimeout) { self.timeout = timeout }
}
