package import CredentialCore

/// What carries requests out, in the worker.
package protocol HTTPTransport: AnyObject {
    /// Starts a request; `completion` is called later, on the loop, exactly once unless it is cancelled.
    func begin(
        _ request: FetchRequest, _ completion: @escaping (Result<FetchResponse, FetchFailure>) -> Void)
    /// Gives a request up; its completion is not called any more.
    func cancel(_ id: UInt64)
}
