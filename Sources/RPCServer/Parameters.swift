import ChatAuthAPI
import CredentialCore
import JSON
import Secrets

/// The parameters of a call, by name, checked against the method table.
///
/// A name that the table does not have is refused: a typing error must not become a default, and nobody may believe that what he
/// sent was understood.
struct Parameters: ~Escapable {
    private let value: JSONValue?

    /// - Throws: invalid params, when they are not an object or one is unknown or missing.
    @_lifetime(copy value)
    init(_ value: JSONValue?, of method: Method) throws(CallFailure) {
        self.value = value
        let known = method.description.parameters
        if let value {
            guard value.kind == .object else {
                throw CallFailure(
                    invalidParams: "\(method.rawValue) takes its parameters by name, in an object")
            }
            var members = value.members()
            while let member = members.next() {
                let name = member.key.string
                guard known.contains(where: { $0.name == name }) else {
                    let names = known.map(\.name).joined(separator: ", ")
                    throw CallFailure(
                        invalidParams: "unknown parameter; \(method.rawValue) takes "
                            + (names.isEmpty ? "none" : names))
                }
            }
        }
        for parameter in known where parameter.isRequired {
            guard value?.member(named: parameter.name) != nil else {
                throw CallFailure(invalidParams: "\(method.rawValue) needs \(parameter.name)")
            }
        }
    }

    @_lifetime(copy self)
    func member(_ name: StaticString) -> JSONValue? {
        guard let found = value?.member(name), !found.isNull else { return nil }
        return found
    }

    /// A copy of the whole object, for whoever reads it elsewhere; nil where there is none.
    func copy() -> SecretBytes? {
        guard let value else { return nil }
        return SecretBytes(copying: value.rawToken)
    }

    func text(_ name: StaticString, limit: Int = 2048) throws(CallFailure) -> String? {
        guard let member = member(name) else { return nil }
        guard member.kind == .string, member.raw.count <= limit, let text = member.string else {
            throw CallFailure(invalidParams: "\(name) must be a string of at most \(limit) bytes")
        }
        return text
    }

    func flag(_ name: StaticString) throws(CallFailure) -> Bool? {
        guard let member = member(name) else { return nil }
        guard let flag = member.bool else {
            throw CallFailure(invalidParams: "\(name) must be true or false")
        }
        return flag
    }

    func integer(_ name: StaticString) throws(CallFailure) -> Int64? {
        guard let member = member(name) else { return nil }
        guard let integer = member.integer else {
            throw CallFailure(invalidParams: "\(name) must be an integer")
        }
        return integer
    }

    /// A length of time in seconds, fractions allowed, 0 to a year.
    func seconds(_ name: StaticString) throws(CallFailure) -> Milliseconds? {
        guard let member = member(name) else { return nil }
        guard let seconds = member.double, (0...31_536_000).contains(seconds),
            let milliseconds = Int64(exactly: (seconds * 1000).rounded())
        else { throw CallFailure(invalidParams: "\(name) must be a number of seconds from 0 to 31536000") }
        return Milliseconds(milliseconds)
    }

    /// A token, straight into memory that is wiped; it is not looked at here.
    func secret(_ name: StaticString) throws(CallFailure) -> SecretBytes? {
        guard let member = member(name) else { return nil }
        guard let secret = member.secret else { throw CallFailure(invalidParams: "\(name) must be a string") }
        return secret
    }

    /// `expires_at` as callers give it.
    func moment(_ name: StaticString) throws(CallFailure) -> ExpiryReading {
        guard let member = member(name) else { return .absent }
        guard member.kind == .number || member.kind == .string else {
            throw CallFailure(invalidParams: "\(name) must be seconds since the epoch or an RFC 3339 text")
        }
        return ExpiryReading.expiresAt(member)
    }

    /// A list of short texts.
    func texts(_ name: StaticString, limit: Int) throws(CallFailure) -> [String]? {
        guard let member = member(name) else { return nil }
        guard member.kind == .array, member.count <= limit else {
            throw CallFailure(invalidParams: "\(name) must be an array of at most \(limit) strings")
        }
        var texts: [String] = []
        var elements = member.elements()
        while let element = elements.next() {
            guard element.kind == .string, element.raw.count <= 256, let text = element.string else {
                throw CallFailure(invalidParams: "\(name) must be an array of strings")
            }
            texts.append(text)
        }
        return texts
    }
}
