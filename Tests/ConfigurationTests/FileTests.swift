import Configuration
import CredentialCore
import Glibc
import Testing

@Suite struct `Files of the configuration` {
    /// A directory of its own for each test, removed with it.
    final class Scratch {
        let path: String

        init() {
            var template = Array("/tmp/chatauth-config-XXXXXX".utf8CString)
            path = template.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? ""
            }
            mkdir(path + "/accounts.d", 0o755)
        }

        func write(_ name: String, _ text: String, mode: mode_t = 0o644) {
            guard let file = fopen(path + "/" + name, "w") else { return }
            fputs(text, file)
            fclose(file)
            chmod(path + "/" + name, mode)
        }

        func load(trust: ConfigurationFiles.Trust? = nil, mainIsRequired: Bool = false)
            throws(ConfigurationFailure) -> [Configuration.File]
        {
            try ConfigurationFiles.load(
                mainPath: path + "/chatauthd.toml", accountsDirectory: path + "/accounts.d",
                trust: trust ?? .user(getuid()), mainIsRequired: mainIsRequired)
        }

        func problems(trust: ConfigurationFiles.Trust? = nil, mainIsRequired: Bool = false) -> [String] {
            do throws(ConfigurationFailure) {
                _ = try load(trust: trust, mainIsRequired: mainIsRequired)
                return []
            } catch {
                return error.faults.map { String($0.line.dropFirst(path.utf8.count + 1)) }
            }
        }

        deinit {
            for name in ["z.toml", "a.toml", ".hidden.toml", "note.txt", "pipe.toml", "big.toml", "dir.toml"]
            {
                unlink(path + "/accounts.d/" + name)
                rmdir(path + "/accounts.d/" + name)
            }
            unlink(path + "/chatauthd.toml")
            rmdir(path + "/accounts.d")
            rmdir(path)
        }
    }

    @Test func `the main file comes first, then the accounts sorted by name`() throws {
        let scratch = Scratch()
        scratch.write("chatauthd.toml", "main")
        scratch.write("accounts.d/z.toml", "z")
        scratch.write("accounts.d/a.toml", "a")
        scratch.write("accounts.d/.hidden.toml", "no")
        scratch.write("accounts.d/note.txt", "no")
        let files = try scratch.load()
        #expect(files.map { String(decoding: $0.bytes, as: UTF8.self) } == ["main", "a", "z"])
        #expect(files.map(\.role) == [.main, .accounts, .accounts])
    }

    @Test func `nothing there is no fault, unless the main file was asked for`() throws {
        let scratch = Scratch()
        rmdir(scratch.path + "/accounts.d")
        #expect(try scratch.load() == [])
        #expect(scratch.problems(mainIsRequired: true) == ["chatauthd.toml: no such file"])
    }

    @Test func `a file that others may write is refused`() {
        let scratch = Scratch()
        scratch.write("chatauthd.toml", "", mode: 0o646)
        scratch.write("accounts.d/a.toml", "", mode: 0o664)
        #expect(
            scratch.problems() == ["chatauthd.toml: others may write to it; run chmod go-w"])
        let system = ConfigurationFiles.Trust(owners: [getuid()], forbiddenMode: 0o022)
        #expect(
            scratch.problems(trust: system) == [
                "chatauthd.toml: others may write to it; run chmod go-w",
                "accounts.d/a.toml: others may write to it; run chmod go-w",
            ])
    }

    @Test func `a file or directory of somebody else is refused`() {
        let scratch = Scratch()
        scratch.write("chatauthd.toml", "")
        let other = ConfigurationFiles.Trust(owners: [12_345], forbiddenMode: 0o022)
        #expect(
            scratch.problems(trust: other) == [
                "chatauthd.toml: belongs to uid \(getuid()), who may not configure this daemon",
                "accounts.d: belongs to uid \(getuid()), who may not configure this daemon",
            ])
    }

    @Test func `a directory in which others may write is refused`() {
        let scratch = Scratch()
        chmod(scratch.path + "/accounts.d", 0o777)
        #expect(scratch.problems() == ["accounts.d: others may write to it; run chmod go-w"])
    }

    @Test func `a pipe, a directory and a file that is too large are refused without waiting`() {
        let scratch = Scratch()
        mkfifo(scratch.path + "/accounts.d/pipe.toml", 0o600)
        mkdir(scratch.path + "/accounts.d/dir.toml", 0o755)
        scratch.write("accounts.d/big.toml", String(repeating: "#", count: 1 << 20) + "\n")
        scratch.write("accounts.d/a.toml", String(repeating: "#", count: 1 << 20))
        #expect(
            scratch.problems() == [
                "accounts.d/big.toml: larger than 1048576 bytes",
                "accounts.d/dir.toml: not a regular file",
                "accounts.d/pipe.toml: not a regular file",
            ])
    }

    @Test func `the name service knows root, and does not know what is not there`() throws {
        #expect(try SystemNames().uid(of: "root") == 0)
        #expect(try SystemNames().gid(of: "root") == 0)
        #expect(try SystemNames().uid(of: "no-such-user-here") == nil)
        #expect(try SystemNames().gid(of: "no-such-group-here") == nil)
    }
}
