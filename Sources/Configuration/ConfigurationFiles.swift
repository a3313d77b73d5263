import Glibc

/// Reads the files of the configuration, and refuses those that somebody else could have written.
package enum ConfigurationFiles {
    /// Whose files are believed.
    package struct Trust: Sendable {
        /// Owners whose files count.
        package let owners: Set<UInt32>
        /// Bits of the mode that a file must not have.
        package let forbiddenMode: UInt32

        /// Other owners and modes than those of the two instances.
        package init(owners: Set<UInt32>, forbiddenMode: UInt32) {
            self.owners = owners
            self.forbiddenMode = forbiddenMode
        }

        /// The system's: root's, and nobody else may write.
        package static let system = Trust(owners: [0], forbiddenMode: 0o022)

        /// A user's: their own or root's; a group of one's own may write.
        package static func user(_ uid: UInt32) -> Trust { Trust(owners: [uid, 0], forbiddenMode: 0o002) }
    }

    /// Bytes of one file.
    package static let sizeLimit = 1 << 20
    /// Files in the directory.
    package static let countLimit = 4096

    /// Reads `mainPath` and the `*.toml` of `accountsDirectory`, sorted by name; those that begin with a dot are left out.
    ///
    /// A directory that is not there is empty. The main file may be absent too, unless `mainIsRequired`.
    ///
    /// - Throws: `ConfigurationFailure` with the problem of every file that cannot be used.
    package static func load(
        mainPath: String, accountsDirectory: String, trust: Trust, mainIsRequired: Bool = false
    ) throws(ConfigurationFailure) -> [Configuration.File] {
        var files: [Configuration.File] = []
        var faults: [ConfigurationFault] = []
        func add(_ path: String, _ role: Configuration.File.Role, mayBeMissing: Bool) {
            do throws(Problem) {
                files.append(
                    Configuration.File(path: path, bytes: try read(path, trust), role: role))
            } catch {
                if mayBeMissing, error.problem == .missing { return }
                faults.append(
                    ConfigurationFault(file: path, position: nil, problem: .file(error.problem)))
            }
        }
        add(mainPath, .main, mayBeMissing: !mainIsRequired)
        do throws(Problem) {
            // A file that vanishes between listing and opening was being removed.
            for name in try names(accountsDirectory, trust) {
                add(accountsDirectory + "/" + name, .accounts, mayBeMissing: true)
            }
        } catch {
            if error.problem != .missing {
                faults.append(
                    ConfigurationFault(
                        file: accountsDirectory, position: nil, problem: .file(error.problem)))
            }
        }
        guard faults.isEmpty else { throw ConfigurationFailure(faults: faults) }
        return files
    }

    private struct Problem: Error {
        let problem: ConfigurationProblem.FileProblem

        init(_ problem: ConfigurationProblem.FileProblem) { self.problem = problem }
    }

    private static func names(_ directory: String, _ trust: Trust) throws(Problem) -> [String] {
        let fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard fd >= 0 else { throw openFailure(errno) }
        guard let handle = fdopendir(fd) else {
            let code = errno
            close(fd)
            throw Problem(.unreadable(code: code))
        }
        defer { closedir(handle) }
        try check(fd, trust)
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasSuffix(".toml"), !name.hasPrefix(".") else { continue }
            guard names.count < countLimit else { throw Problem(.tooMany(limit: countLimit)) }
            names.append(name)
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func read(_ path: String, _ trust: Trust) throws(Problem) -> [UInt8] {
        // Opening a FIFO must not wait for its writer.
        let fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { throw openFailure(errno) }
        defer { close(fd) }
        guard try check(fd, trust) & S_IFMT == S_IFREG else { throw Problem(.notRegular) }
        // One byte more than is allowed, so that a file that grows meanwhile is found out too.
        var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(fd, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            if got == 0 { break }
            if got < 0 {
                if errno == EINTR { continue }
                throw Problem(.unreadable(code: errno))
            }
            count += got
        }
        guard count <= sizeLimit else { throw Problem(.tooLarge(limit: sizeLimit)) }
        return Array(bytes.prefix(count))
    }

    // What is opened is what is checked: the path may lead elsewhere a moment later.
    @discardableResult
    private static func check(_ fd: Int32, _ trust: Trust) throws(Problem) -> UInt32 {
        var status = stat()
        guard fstat(fd, &status) == 0 else { throw Problem(.unreadable(code: errno)) }
        guard trust.owners.contains(status.st_uid) else { throw Problem(.foreignOwner(uid: status.st_uid)) }
        guard status.st_mode & trust.forbiddenMode == 0 else { throw Problem(.writableByOthers) }
        return status.st_mode
    }

    private static func openFailure(_ code: Int32) -> Problem {
        Problem(code == ENOENT ? .missing : .unreadable(code: code))
    }
}
