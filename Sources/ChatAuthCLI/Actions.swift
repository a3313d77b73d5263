import ChatAuthAPI
import JSON
import Secrets

/// Commands that change something and say nothing when it is done, unless JSON is asked for.
extension Session {
    /// Calls a method whose only parameter is the account, where it has one.
    func act(_ method: Method) throws(Failure) {
        try act(method) { (params) throws(Failure) in
            params.beginObject(); try account(&params); params.endObject()
        }
    }

    func act(_ method: Method, params: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        var output = SecretBuffer()
        try call(
            method, params: params,
            answer: { (result) throws(Failure) in
                guard isJSON else { return }
                output.append(result.rawToken)
                output.append("\n")
            })
        if !output.isEmpty { try Output.write(output) }
    }

    func reject() throws(Failure) {
        try act(.tokenReject) { (params) throws(Failure) in
            params.beginObject()
            try account(&params)
            params.member("generation", number: .generation, of: invocation)
            params.member("http_status", number: .httpStatus, of: invocation)
            params.member("code", text: .code, of: invocation)
            params.endObject()
        }
    }

    func refresh() throws(Failure) {
        try act(.authRefresh) { (params) throws(Failure) in
            params.beginObject()
            try account(&params)
            params.member("reason", text: .reason, of: invocation)
            params.member("wait", seconds: .wait, of: invocation)
            params.endObject()
        }
    }

    func account(_ params: inout JSONWriter) throws(Failure) {
        guard invocation.command.description.first != nil else { return }
        params.member("account", try operand(0))
    }
}
