/// A list that only grows, of values without references.
///
/// Not an array: the first use of each array type makes the runtime build its metadata, which takes as long as all the rest of
/// reading a command line. Its memory is not given back: it lives as long as the process, as the arguments do that it points to.
struct ShortList<Element: BitwiseCopyable> {
    private var start: UnsafeMutablePointer<Element>?
    private var capacity = 0
    private(set) var count = 0

    mutating func append(_ element: Element) {
        if count == capacity {
            capacity = max(8, capacity * 2)
            let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
            if let start { larger.update(from: start, count: count) }
            start = larger
        }
        guard let start else { return }
        start[count] = element
        count += 1
    }

    subscript(index: Int) -> Element {
        precondition((0..<count).contains(index))
        guard let start else { preconditionFailure() }
        return start[index]
    }
}
