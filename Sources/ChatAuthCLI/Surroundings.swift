import Glibc

/// What the kernel handed the process: its arguments and its environment, as C strings that live as long as it does.
package struct Surroundings {
    private let argumentPointers: UnsafePointer<UnsafeMutablePointer<CChar>?>?
    private let environmentPointers: UnsafePointer<UnsafeMutablePointer<CChar>?>?

    /// Takes the two arrays, each ended by a null pointer.
    package init(
        arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?
    ) {
        argumentPointers = arguments
        environmentPointers = environment
    }

    /// The argument at `index`, where 0 is the program's name; nil behind the last.
    func argument(_ index: Int) -> Argument? {
        guard let argumentPointers else { return nil }
        for earlier in 0..<index where argumentPointers[earlier] == nil { return nil }
        guard let text = argumentPointers[index] else { return nil }
        return Argument(text)
    }

    /// The value of an environment variable; nil when it is not set or empty.
    func variable(_ name: StaticString) -> Argument? {
        guard let environmentPointers else { return nil }
        var index = 0
        while let entry = environmentPointers[index] {
            index += 1
            guard
                strncmp(
                    entry, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
                    name.utf8CodeUnitCount) == 0, entry[name.utf8CodeUnitCount] == CChar(UInt8(ascii: "="))
            else { continue }
            let value = Argument(entry + name.utf8CodeUnitCount + 1)
            return value.count == 0 ? nil : value
        }
        return nil
    }

    /// Every entry of the environment but that of the variable `name`.
    func environment(without name: Argument?) -> [UnsafeMutablePointer<CChar>?] {
        var entries: [UnsafeMutablePointer<CChar>?] = []
        guard let environmentPointers else { return entries }
        var index = 0
        while let entry = environmentPointers[index] {
            index += 1
            if let name, strncmp(entry, name.start, name.count) == 0,
                entry[name.count] == CChar(UInt8(ascii: "="))
            {
                continue
            }
            entries.append(entry)
        }
        return entries
    }
}

/// One argument: bytes before a zero byte, not copied, not necessarily UTF-8.
struct Argument {
    /// The C string.
    let start: UnsafeMutablePointer<CChar>
    /// Its bytes without the zero.
    let count: Int

    init(_ start: UnsafeMutablePointer<CChar>) {
        self.start = start
        count = strlen(start)
    }

    /// Lends the bytes.
    var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let bytes = UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self)
            let span = UnsafeBufferPointer(start: bytes, count: count).span
            return _overrideLifetime(span, borrowing: self)
        }
    }

    subscript(index: Int) -> UInt8 { UInt8(bitPattern: start[index]) }

    /// The text; bytes that are no UTF-8 become U+FFFD.
    var text: String { String(cString: start) }

    static func == (argument: Argument, text: StaticString) -> Bool {
        argument.count == text.utf8CodeUnitCount
            && memcmp(argument.start, text.utf8Start, argument.count) == 0
    }

    /// What stands behind the first `length` bytes.
    func dropFirst(_ length: Int) -> Argument { Argument(start + length) }

    /// A whole number of decimal digits that is at most `limit`.
    func decimal(upTo limit: Int64) -> Int64? {
        guard count > 0, count <= 18 else { return nil }
        var value: Int64 = 0
        for index in 0..<count {
            let digit = self[index] &- 48
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value <= limit ? value : nil
    }

    /// Seconds as milliseconds: decimal digits with up to three behind a point, at most a year.
    var milliseconds: Int64? {
        var value: Int64 = 0
        var fraction = -1
        guard count > 0, count <= 13, self[0] != UInt8(ascii: "."), self[count - 1] != UInt8(ascii: ".")
        else {
            return nil
        }
        for index in 0..<count {
            if self[index] == UInt8(ascii: "."), fraction < 0 {
                fraction = 0
                continue
            }
            let digit = self[index] &- 48
            guard digit < 10, fraction < 3 else { return nil }
            value = value * 10 + Int64(digit)
            if fraction >= 0 { fraction += 1 }
        }
        for _ in max(fraction, 0)..<3 { value *= 10 }
        return value <= 366 * 86_400_000 ? value : nil
    }

    /// Whether it has the form of seconds since 1970 or of an RFC 3339 time: what the daemon cannot read it takes for no expiry at all.
    var isMoment: Bool {
        if decimal(upTo: .max) != nil { return true }
        // `d` is a digit, everything else itself; T and Z may be small.
        let form: StaticString = "dddd-dd-ddTdd:dd:dd"
        guard count > form.utf8CodeUnitCount, hasForm(form, at: 0),
            (1...12).contains(pair(5)), (1...31).contains(pair(8)),
            pair(11) < 24, pair(14) < 60, pair(17) <= 60
        else { return false }
        var index = form.utf8CodeUnitCount
        if self[index] == UInt8(ascii: ".") {
            let first = index + 1
            index = first
            while index < count, self[index] &- 48 < 10 { index += 1 }
            guard index > first, index < count else { return false }
        }
        if self[index] | 0x20 == UInt8(ascii: "z") { return index + 1 == count }
        return (hasForm("+dd:dd", at: index) || hasForm("-dd:dd", at: index)) && index + 6 == count
            && pair(index + 1) < 24 && pair(index + 4) < 60
    }

    private func hasForm(_ form: StaticString, at start: Int) -> Bool {
        guard start + form.utf8CodeUnitCount <= count else { return false }
        for index in 0..<form.utf8CodeUnitCount {
            let byte = self[start + index]
            let wanted = form.utf8Start[index]
            if wanted == UInt8(ascii: "d") {
                guard byte &- 48 < 10 else { return false }
            } else {
                guard byte == wanted || wanted == UInt8(ascii: "T") && byte == UInt8(ascii: "t") else {
                    return false
                }
            }
        }
        return true
    }

    /// The number that two digits make.
    private func pair(_ index: Int) -> Int { Int(self[index] &- 48) * 10 + Int(self[index + 1] &- 48) }

    /// Whether it may name an account: 1 to 64 of `A-Z a-z 0-9 . _ @ -`, not beginning with `.` or `-`.
    var isAccountName: Bool {
        guard (1...64).contains(count), self[0] != UInt8(ascii: "."), self[0] != UInt8(ascii: "-") else {
            return false
        }
        for index in 0..<count {
            switch self[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "@"),
                UInt8(ascii: "-"):
                continue
            default: return false
            }
        }
        return true
    }

    /// Whether it may name an environment variable (POSIX 8.1, and lower case).
    var isVariableName: Bool {
        guard count > 0, !(48...57).contains(self[0]) else { return false }
        for index in 0..<count {
            switch self[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return true
    }
}
