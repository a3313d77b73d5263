import CLinux
package import CredentialCore
import Glibc
package import Secrets

/// Reads a file that holds a secret, if nobody but its owner can have touched it.
///
/// What is checked is the open file and not its name, so that nothing can change in between.
package struct ReferencedFile: Sendable {
    /// Bytes of one file.
    package static let sizeLimit = 1 << 20
    /// The code of `FileFailure.unreadable` when too many requests wait.
    package static let busy = EAGAIN

    private let owner: UInt32
    private let credentialsDirectory: String?

    /// Reads files of `owner` and of root; `credentialsDirectory` is where systemd put the unit's credentials, if it did.
    package init(owner: UInt32, credentialsDirectory: String?) {
        self.owner = owner
        self.credentialsDirectory = credentialsDirectory
    }

    /// The contents in the order of `references`, or the first failure.
    ///
    /// A line end at the end is part of a content.
    package func read(_ references: [SecretReference]) -> Result<[SecretBytes], FileFailure> {
        var contents: [SecretBytes] = []
        do throws(FileFailure) {
            for (index, reference) in references.enumerated() {
                contents.append(try read(reference, index))
            }
        } catch {
            return .failure(error)
        }
        return .success(contents)
    }

    private func read(_ reference: SecretReference, _ index: Int) throws(FileFailure) -> SecretBytes {
        let path: String
        // Group and other bits that must be clear. systemd shows a credential to its unit by an access list, which looks like the
        // group's right to read; the directory around it is closed to everybody else.
        let forbidden: mode_t
        switch reference {
        case .file(let file):
            guard file.hasPrefix("/"), !file.utf8.contains(0) else { throw .unsafe(index: index) }
            path = file
            forbidden = 0o077
        case .credential(let name):
            guard let credentialsDirectory else { throw .missing(index: index) }
            guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")),
                !name.utf8.contains(0)
            else { throw .unsafe(index: index) }
            path = credentialsDirectory + "/" + name
            forbidden = 0o037
        // The store's own; whoever asks for files has taken these out.
        case .secret: throw .missing(index: index)
        }
        // Non-blocking, so that a pipe in the place of a file ends in a refusal and not in a wait.
        let descriptor = cl_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: throw .missing(index: index)
            // ENXIO: a socket.
            case ELOOP, ENXIO: throw .unsafe(index: index)
            default: throw .unreadable(index: index, code: errno)
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(index: index, code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == 0 || status.st_uid == owner,
            status.st_mode & forbidden == 0
        else { throw .unsafe(index: index) }
        guard status.st_size <= Self.sizeLimit else { throw .tooLarge(index: index) }
        return try content(descriptor, expecting: Int(status.st_size), index)
    }

    private func content(
        _ descriptor: Int32, expecting size: Int, _ index: Int
    ) throws(FileFailure) -> SecretBytes {
        // One more than it should be, so that the first read mostly sees the end too.
        var content = SecretBuffer(capacity: size + 1)
        while true {
            var code: Int32 = 0
            let before = content.count
            content.append(upTo: max(content.capacity - content.count, 4096)) { room in
                let count = Glibc.read(descriptor, room.baseAddress, room.count)
                code = count < 0 ? errno : 0
                return max(count, 0)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw .unreadable(index: index, code: code) }
            // It may have grown since it was looked at.
            guard content.count <= Self.sizeLimit else { throw .tooLarge(index: index) }
            if content.count == before { return content.finish() }
        }
    }
}
