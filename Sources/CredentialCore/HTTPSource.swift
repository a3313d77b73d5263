/// The user's own backend: one HTTPS request gives a fresh credential.
package struct HTTPSource: Equatable, Sendable {
    /// Where the request goes.
    package let url: HTTPURL
    /// GET or POST.
    package let method: Method
    /// What is sent beside the usual headers.
    package let headers: [Header]
    /// A text with `{account}`, `{reason}`, `{chat_id}` and `{user_id}` in it, escaped as the media type asks where they are put in.
    ///
    /// Nil: an object with all that are known.
    package let bodyTemplate: String?
    /// The media type of the body.
    package let contentType: String
    /// Of which form the answer is.
    package let answer: Answer
    /// Nil: every name that backends commonly use is understood.
    package let fields: FieldMap?
    /// An absolute path to PEM certificates that are trusted instead of the system's.
    package let caFile: String?
    /// `http://host:port` or `https://host:port`; nil: no proxy.
    package let proxy: String?
    /// One attempt in all.
    package let timeout: Milliseconds

    /// The methods that give credentials.
    package enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
    }

    /// What an answer may be.
    package enum Answer: String, Sendable, CaseIterable {
        /// A JSON object with tokens in it.
        case json
        /// The body is the token; one line end after it is not part of it.
        case text
    }

    /// One header line.
    package struct Header: Equatable, Sendable {
        /// The field name.
        package let name: String
        /// What is sent in it.
        package let value: Value

        /// Where a value comes from.
        package enum Value: Equatable, Sendable {
            case literal(String)
            case secret(SecretReference, prefix: String)
        }

        /// Takes name and value.
        package init(name: String, value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// Takes what was read and checked.
    package init(
        url: HTTPURL, method: Method = .post, headers: [Header] = [], bodyTemplate: String? = nil,
        contentType: String = "application/json", answer: Answer = .json, fields: FieldMap? = nil,
        caFile: String? = nil, proxy: String? = nil, timeout: Milliseconds = .seconds(8)
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.bodyTemplate = bodyTemplate
        self.contentType = contentType
        self.answer = answer
        self.fields = fields
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
    }
}
