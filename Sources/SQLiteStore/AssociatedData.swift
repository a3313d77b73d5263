/// What a sealed value is bound to: a list of items, each with its length before it, so that no two lists give the same bytes.
struct AssociatedData {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(256) }

    /// Appends a text.
    mutating func append(_ text: String) {
        append(length: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a number as eight bytes, least significant first.
    mutating func append(_ number: Int64) {
        append(length: 8)
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends bytes.
    mutating func append(bytes item: [UInt8]) {
        append(bytes: item, [])
    }

    /// Appends two runs of bytes as one item.
    mutating func append(bytes first: some Collection<UInt8>, _ second: some Collection<UInt8>) {
        append(length: first.count + second.count)
        bytes.append(contentsOf: first)
        bytes.append(contentsOf: second)
    }

    private mutating func append(length: Int) {
        withUnsafeBytes(of: UInt32(length).littleEndian) { bytes.append(contentsOf: $0) }
    }
}
