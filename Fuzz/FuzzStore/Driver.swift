import AdapterProperties

/// libFuzzer's runtime: calls `LLVMFuzzerTestOneInput` with what it makes out of the corpus; returns when its time is over.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Checks one input; a property that does not hold ends the process, which libFuzzer reports with the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do throws(StoreProperty.Violation) {
        try StoreProperty.check(UnsafeBufferPointer(start: bytes, count: count).span)
    } catch {
        fatalError("\(error)")
    }
    return 0
}

@main
struct Driver {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        _ = runDriver(&count, &arguments) { testOneInput($0, $1) }
    }
}
