package import JSON

/// The method table as an OpenRPC 1.3 document: what `rpc.discover` answers.
package enum OpenRPC {
    /// The protocol's version: its first number changes when a client that was right becomes wrong.
    package static let protocolVersion = "1.0"

    /// Writes the document as one value; `serverVersion` is the release that answers.
    package static func write(to writer: inout JSONWriter, serverVersion: String) {
        writer.beginObject()
        writer.key("openrpc")
        writer.string("1.3.2")
        writer.key("info")
        writer.beginObject()
        writer.key("title")
        writer.string("chatauthd")
        writer.key("version")
        writer.string(serverVersion)
        writer.endObject()
        writer.key("methods")
        writer.beginArray()
        for method in Method.allCases { write(method, to: &writer) }
        writer.endArray()
        writer.key("components")
        writer.beginObject()
        writer.key("errors")
        writer.beginObject()
        for kind in ErrorKind.allCases {
            writer.key(named: kind.rawValue)
            writer.beginObject()
            writer.key("code")
            writer.integer(kind.properties.code)
            writer.key("message")
            writer.string(kind.rawValue)
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
    }

    private static func write(_ method: Method, to writer: inout JSONWriter) {
        let description = method.description
        writer.beginObject()
        writer.key("name")
        writer.string(method.rawValue)
        writer.key("summary")
        writer.string(description.summary)
        writer.key("x-access")
        writer.string(description.access.rawValue)
        writer.key("paramStructure")
        writer.string("by-name")
        writer.key("params")
        writer.beginArray()
        for parameter in description.parameters {
            writer.beginObject()
            writer.key("name")
            writer.string(parameter.name)
            writer.key("summary")
            writer.string(parameter.summary)
            writer.key("required")
            writer.bool(parameter.isRequired)
            writer.key("schema")
            writer.beginObject()
            writer.key("type")
            if parameter.type == .moment {
                writer.beginArray()
                writer.string("number")
                writer.string("string")
                writer.string("null")
                writer.endArray()
            } else {
                writer.string(parameter.type.rawValue)
            }
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
        writer.key("result")
        writer.beginObject()
        writer.key("name")
        writer.string("result")
        writer.key("schema")
        writer.beginObject()
        writer.key("type")
        writer.string("object")
        writer.endObject()
        writer.endObject()
        writer.endObject()
    }
}
