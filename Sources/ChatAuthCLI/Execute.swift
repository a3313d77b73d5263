import CLinux
import ChatAuthAPI
import Glibc
import JSON
import Secrets

/// `exec`: a program takes the place of this one, with the token in a variable or behind a descriptor.
extension Session {
    func execute() throws(Failure) {
        if invocation.has(.env), invocation.has(.fd) {
            throw .usage(.exclusive(.env, .fd), invocation.command)
        }
        var token = SecretBuffer(capacity: 2048)
        // The connection ends with the scope: the program must not inherit it.
        try withToken(connect()) { (result) throws(Failure) in
            try token.append(member: "bearer_token", of: result, free: .zero)
        }
        var environment: [UnsafeMutablePointer<CChar>?]
        if let number = invocation.value(.fd)?.decimal(upTo: 1023) {
            environment = surroundings.environment(without: nil)
            try Self.place(token, at: Int32(number))
        } else {
            let name = invocation.value(.env)
            environment = surroundings.environment(without: name)
            environment.append(try Self.entry(name, token))
        }
        environment.append(nil)
        var arguments: [UnsafeMutablePointer<CChar>?] = []
        for index in 1..<invocation.operands.count { arguments.append(invocation.operands[index].start) }
        let program = try operand(1)
        arguments.append(nil)
        _ = cl_execute(program.start, arguments, environment)
        throw .notExecutable(path: program.text, errno: errno)
    }

    /// `NAME=token` as a C string; it lives until the program replaces this one.
    private static func entry(
        _ name: Argument?, _ token: borrowing SecretBuffer
    ) throws(Failure) -> UnsafeMutablePointer<CChar> {
        var entry = SecretBuffer(capacity: token.count + 128)
        if let name { entry.append(name.span) } else { entry.append("CHATAUTH_TOKEN") }
        entry.append("=")
        entry.append(copying: token)
        entry.append(0)
        let copy = entry.withSpan { span in
            span.withUnsafeBytes { bytes -> UnsafeMutablePointer<CChar>? in
                let memory = malloc(bytes.count)
                if let memory, let base = bytes.baseAddress { memcpy(memory, base, bytes.count) }
                return memory?.assumingMemoryBound(to: CChar.self)
            }
        }
        guard let copy else { throw .system(call: "malloc", errno: errno) }
        return copy
    }

    /// Puts the token into sealed memory that the program finds at that descriptor, to be read from its beginning.
    private static func place(_ token: borrowing SecretBuffer, at number: Int32) throws(Failure) {
        let file = cl_memory_file("token")
        guard file >= 0 else { throw .system(call: "memfd_create", errno: errno) }
        let isWritten = token.withSpan { span in
            span.withUnsafeBytes { bytes in
                var written = 0
                while written < bytes.count, let base = bytes.baseAddress {
                    let count = write(file, base + written, bytes.count - written)
                    guard count > 0 || errno == EINTR else { return false }
                    written += max(count, 0)
                }
                return true
            }
        }
        guard isWritten, cl_seal_memory_file(file) == 0, lseek(file, 0, SEEK_SET) == 0 else {
            throw .system(call: "memfd", errno: errno)
        }
        // The copy stays open in the program; the first one closes with this.
        let isPlaced = file == number ? cl_set_close_on_exec(file, 0) == 0 : dup2(file, number) == number
        guard isPlaced else { throw .system(call: "dup2", errno: errno) }
    }
}
