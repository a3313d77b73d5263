import CredentialCore
import EventLoop
import Glibc
import LocalFiles
import OriginSupport
import Secrets
import Testing

@Suite struct `Referenced file` {
    /// A directory that is removed with everything in it.
    private final class Place: FileObserver {
        let path: String
        let driver: Driver
        var told: [UInt64: [Result<[SecretBytes], FileFailure>]] = [:]

        init() throws {
            var template = Array("/tmp/chatauth-files-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            driver = try Driver()
        }

        deinit {
            for name in ["a", "b", "link", "pipe", "directory", "socket"] {
                unlink(path + "/" + name)
                rmdir(path + "/" + name)
            }
            rmdir(path)
        }

        func make(_ name: String, _ content: [UInt8], mode: mode_t = 0o600) throws -> SecretReference {
            let file = try #require(fopen(path + "/" + name, "we"))
            fwrite(content, 1, content.count, file)
            fclose(file)
            chmod(path + "/" + name, mode)
            return .file(path: path + "/" + name)
        }

        func read(_ references: [SecretReference], owner: UInt32 = getuid()) -> Result<
            [SecretBytes], FileFailure
        > {
            ReferencedFile(owner: owner, credentialsDirectory: path).read(references)
        }

        func failure(_ references: SecretReference..., owner: UInt32 = getuid()) -> FileFailure? {
            if case .failure(let failure) = read(references, owner: owner) { failure } else { nil }
        }

        func filesDidEnd(_ id: UInt64, _ outcome: Result<[SecretBytes], FileFailure>) {
            told[id, default: []].append(outcome)
        }
    }

    @Test func `contents come in the order asked for, line ends included`() throws {
        let place = try Place()
        let first = try place.make("a", Array("s3cret\n".utf8))
        let second = try place.make("b", [], mode: 0o400)
        let contents = try place.read([first, second, first]).get()
        #expect(contents.map { $0.count } == [7, 0, 7])
        #expect(contents[0].isEqual(to: SecretBytes("s3cret\n")))
    }

    @Test(arguments: [0o604, 0o640, 0o620, 0o602, 0o610, 0o601])
    func `a file that is open to others is refused`(_ mode: Int) throws {
        let place = try Place()
        let file = try place.make("a", [1], mode: mode_t(mode))
        #expect(place.failure(file) == .unsafe(index: 0))
    }

    @Test func `what is no regular file of ours or root's is refused`() throws {
        let place = try Place()
        let file = try place.make("a", [1])
        symlink(place.path + "/a", place.path + "/link")
        mkfifo(place.path + "/pipe", 0o600)
        mkdir(place.path + "/directory", 0o700)
        #expect(place.failure(file, .file(path: place.path + "/link")) == .unsafe(index: 1))
        #expect(place.failure(.file(path: place.path + "/pipe")) == .unsafe(index: 0))
        #expect(place.failure(.file(path: place.path + "/directory")) == .unsafe(index: 0))
        #expect(place.failure(.file(path: "a")) == .unsafe(index: 0))
        #expect(place.failure(.file(path: place.path + "/none")) == .missing(index: 0))
        #expect(place.failure(.file(path: place.path + "/a/none")) == .missing(index: 0))
        guard getuid() == 0 else { return print("SKIPPED: only root can give a file to somebody else") }
        chown(place.path + "/a", 12345, 12345)
        #expect(place.failure(file) == .unsafe(index: 0))
        #expect(place.failure(file, owner: 12345) == nil)
    }

    @Test
    func `a credential of the unit may look readable to its group, and is nowhere but in its directory`()
        throws
    {
        let place = try Place()
        _ = try place.make("a", [1], mode: 0o440)
        #expect(place.failure(.credential(name: "a")) == nil)
        #expect(place.failure(.credential(name: "none")) == .missing(index: 0))
        for name in ["", ".", "..", "../a", "x/a"] {
            #expect(place.failure(.credential(name: name)) == .unsafe(index: 0))
        }
        _ = try place.make("b", [1], mode: 0o444)
        #expect(place.failure(.credential(name: "b")) == .unsafe(index: 0))
        let without = ReferencedFile(owner: getuid(), credentialsDirectory: nil)
        #expect(throws: FileFailure.missing(index: 0)) { try without.read([.credential(name: "a")]).get() }
    }

    @Test func `a file of a mebibyte is read and a larger one is not`() throws {
        let place = try Place()
        let largest = try place.make("a", [UInt8](repeating: 7, count: ReferencedFile.sizeLimit))
        let larger = try place.make("b", [UInt8](repeating: 7, count: ReferencedFile.sizeLimit + 1))
        #expect(try place.read([largest]).get()[0].count == ReferencedFile.sizeLimit)
        #expect(place.failure(largest, larger) == .tooLarge(index: 1))
    }

    @Test func `a reader tells each outcome once, on the loop`() throws {
        let place = try Place()
        let file = try place.make("a", Array("x".utf8))
        let reader = try FileReader(
            loop: place.driver.loop, owner: getuid(), credentialsDirectory: nil)
        reader.observer = place
        for id in 0..<100 { reader.read(UInt64(id), id % 2 == 0 ? [file] : [file, .credential(name: "a")]) }
        #expect(place.told.isEmpty)
        #expect(try place.driver.turn { place.told.count == 100 })
        for id in 0..<100 {
            #expect(place.told[UInt64(id)]?.count == 1)
            let outcome = try #require(place.told[UInt64(id)]?.first)
            switch outcome {
            case .success(let contents): #expect(id % 2 == 0 && contents.count == 1)
            case .failure(let failure): #expect(id % 2 == 1 && failure == .missing(index: 1))
            }
        }
        reader.shutdown()
        reader.read(1000, [file])
        #expect(try place.driver.turn { place.told[1000] != nil })
        #expect(throws: FileFailure.unreadable(index: 0, code: EAGAIN)) { try place.told[1000]?.first?.get() }
    }
}
