package import CredentialCore

/// What is wrong with a file of the configuration.
package enum ConfigurationProblem: Equatable, Sendable {
    case syntax(Syntax)
    /// One value; its key stands in the fault.
    case value(DefinitionProblem)
    /// A table that only the main file may have.
    case onlyInMainFile
    /// An account that another file has already, and where.
    case accountTwice(file: String, position: TextPosition?)
    case file(FileProblem)

    /// Why a text is not TOML.
    package enum Syntax: Equatable, Sendable {
        case syntax
        /// What is missing or not allowed at the place.
        case malformed(Malformation)
        case unexpectedEnd
        case duplicateKey
        case tooDeep
        case notUTF8
    }

    /// What is not TOML about a place.
    package enum Malformation: Sendable, CaseIterable {
        case keyExpected, equalsExpected, valueExpected, lineEndExpected
        case arrayContinuation, tableContinuation, headerEndExpected
        case escape, controlCharacter, number, time

        var message: String {
            switch self {
            case .keyExpected: "a key or a [table] is expected here"
            case .equalsExpected: "= is expected between a key and its value"
            case .valueExpected: "not a value: texts stand in quotes, and true and false are small"
            case .lineEndExpected: "nothing more may stand on this line: each key has a line of its own"
            case .arrayContinuation: "a comma or ] is expected here"
            case .tableContinuation:
                "a comma or } is expected here; a table in braces stands on one line, without a comma at its end"
            case .headerEndExpected: "the name of a table ends with ]; one with spaces stands in quotes"
            case .escape: "no such escape: a backslash is written twice, or the text stands in single quotes"
            case .controlCharacter:
                "a text in quotes ends on its line; three quotes begin one of several lines"
            case .number: "not a number; a text stands in quotes"
            case .time: "not a date or a time (RFC 3339); a text stands in quotes"
            }
        }
    }

    /// Why a file is not read.
    package enum FileProblem: Equatable, Sendable {
        case missing
        case notRegular
        case tooLarge(limit: Int)
        /// Belongs to somebody who may not configure this instance.
        case foreignOwner(uid: UInt32)
        case writableByOthers
        case unreadable(code: Int32)
        case tooMany(limit: Int)
    }

    /// For people.
    package var message: String {
        switch self {
        case .syntax(.syntax): "not TOML"
        case .syntax(.malformed(let what)): "not TOML: " + what.message
        case .syntax(.unexpectedEnd): "the text ends in the middle of something"
        case .syntax(.duplicateKey): "this key or table is there already"
        case .syntax(.tooDeep): "tables lie too deep in one another"
        case .syntax(.notUTF8): "not UTF-8"
        case .value(let problem): problem.message
        case .onlyInMainFile: "only chatauthd.toml may have this"
        case .accountTwice(let file, let position):
            "this account is there already, in " + ConfigurationFault.place(file, position)
        case .file(.missing): "no such file"
        case .file(.notRegular): "not a regular file"
        case .file(.tooLarge(let limit)): "larger than \(limit) bytes"
        case .file(.foreignOwner(let uid)): "belongs to uid \(uid), who may not configure this daemon"
        case .file(.writableByOthers): "others may write to it; run chmod go-w"
        case .file(.unreadable(let code)): "cannot be read (errno \(code))"
        case .file(.tooMany(let limit)): "more than \(limit) files"
        }
    }
}

/// A problem and its place.
package struct ConfigurationFault: Equatable, Sendable {
    /// Its path, as it was given.
    package let file: String
    /// Nil where it is the file as a whole, or not known.
    package let position: TextPosition?
    /// The keys from the root with dots between them, printable; empty for the file as a whole.
    package let key: String
    /// What is wrong.
    package let problem: ConfigurationProblem

    /// A problem of a file, or of a place in it.
    package init(file: String, position: TextPosition?, key: String = "", problem: ConfigurationProblem) {
        self.file = file
        self.position = position
        self.key = key
        self.problem = problem
    }

    /// One line for people, as compilers write them: `file:line:column: key: what is wrong`.
    package var line: String {
        Self.place(file, position) + ": " + (key.isEmpty ? "" : key + ": ") + problem.message
    }

    static func place(_ file: String, _ position: TextPosition?) -> String {
        guard let position else { return file }
        return file + ":\(position.line)" + (position.column > 0 ? ":\(position.column)" : "")
    }
}

/// Why there is no new configuration: the faults of all files, at most 20 of each.
package struct ConfigurationFailure: Error, Equatable, Sendable {
    /// In the order of the files; never empty.
    package let faults: [ConfigurationFault]

    /// The failure that consists of these faults.
    package init(faults: [ConfigurationFault]) { self.faults = faults }
}
