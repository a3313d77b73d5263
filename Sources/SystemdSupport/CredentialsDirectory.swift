/// Where systemd puts the credentials of a unit (systemd.exec(5), `LoadCredential=`).
package struct CredentialsDirectory: Equatable, Sendable {
    /// Absolute, without control characters.
    package let path: String

    /// Takes the value of `CREDENTIALS_DIRECTORY`; nil when there is none or it is no absolute path.
    package init?(environmentValue: String?) {
        guard let environmentValue, environmentValue.hasPrefix("/"),
            environmentValue.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        path = environmentValue
    }

    /// The file of a credential; nil for a name that would lead out of the directory.
    package func path(of name: String) -> String? {
        guard !name.isEmpty, !name.hasPrefix("."),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F })
        else { return nil }
        return path + "/" + name
    }
}
