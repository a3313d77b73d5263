import Glibc

/// Files that tests read, and where they are.
package enum Files {
    /// The root of the package.
    package static let packageRoot = parent(parent(parent(#filePath)))

    /// The content of a file; nil when it cannot be read.
    package static func bytes(at path: String) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return content }
            content += chunk[..<count]
        }
    }

    /// The names in a directory without those that begin with a dot, sorted; empty when there is none.
    package static func names(in directory: String) -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

/// Public test data that lies beside the package and is not part of it.
package enum Vectors {
    /// The folder `name` of the test data: in CHATAUTH_VECTORS, else in ../shared/vectors beside the package.
    ///
    /// Nil, and a line that says so, when it is not there: the test then returns at once.
    package static func directory(named name: String) -> String? {
        let root =
            getenv("CHATAUTH_VECTORS").map { String(cString: $0) }
            ?? Files.parent(Files.packageRoot) + "/shared/vectors"
        let path = root + "/" + name
        guard access(path, R_OK | X_OK) == 0 else {
            print("SKIPPED: the test data \(name) is not at \(root)")
            return nil
        }
        return path
    }
}
