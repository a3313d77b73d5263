import CSodium
import Secrets

/// Where a log stands: the number of its last line and the value that chains the next one to it.
///
/// Each line carries a keyed BLAKE2b hash of the line before and of itself. Without the key nobody can change, leave out, swap or
/// append a line so that the rest still fits.
struct AuditChain: Equatable {
    var sequence: Int64
    var value: [UInt8]

    static let valueLength = 32
    /// Before the first line of all.
    static let start = AuditChain(sequence: 0, value: [UInt8](repeating: 0, count: valueLength))

    /// What stands before and behind the value at the end of a line.
    static let separator = Array(",\"chain\":\"".utf8)
    static let ending = Array("\"}".utf8)
    static let tailLength = separator.count + valueLength * 2 + ending.count

    /// The hash of what was before and `text`; `purpose` keeps lines and heads apart.
    func value(after text: ArraySlice<UInt8>, purpose: UInt8, key: SecretBytes) -> [UInt8] {
        var input = [purpose]
        input.reserveCapacity(1 + value.count + text.count)
        input += value
        input += text
        var output = [UInt8](repeating: 0, count: Self.valueLength)
        let result = key.withSpan { key in
            key.withUnsafeBufferPointer { key in
                crypto_generichash(
                    &output, output.count, input, UInt64(input.count), key.baseAddress, key.count)
            }
        }
        // It fails for lengths out of range only, and those were checked when the key came.
        precondition(result == 0)
        return output
    }

    static let line: UInt8 = 1
    static let head: UInt8 = 2

    private static let digits = Array("0123456789abcdef".utf8)

    static func hex(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }
}
