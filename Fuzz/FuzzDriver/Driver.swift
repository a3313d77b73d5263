import AdapterProperties
import FuzzProperties

/// libFuzzer's runtime: calls `LLVMFuzzerTestOneInput` with what it makes out of the corpus; returns when its time is over.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// What can be fuzzed: the name of a corpus, and what must hold for each of its inputs.
private enum Property: String, CaseIterable {
    case json = "FuzzJSON"
    case framing = "FuzzJSONRPC"
    case configuration = "FuzzConfiguration"
    case store = "FuzzStore"
    case answer = "FuzzAnswer"
    case platform = "FuzzPlatform"
    case worker = "FuzzWorker"
    case oauth = "FuzzOAuth"
    case jose = "FuzzJOSE"

    func check(_ bytes: Span<UInt8>) throws {
        switch self {
        case .json: try JSONProperty.check(bytes)
        case .framing: try FramingProperty.check(bytes)
        case .configuration: try ConfigurationProperty.check(bytes)
        case .store: try StoreProperty.check(bytes)
        case .answer: try AnswerProperty.check(bytes)
        case .platform: try PlatformProperty.check(bytes)
        case .worker: try WorkerProperty.check(bytes)
        case .oauth: try OAuthProperty.check(bytes)
        case .jose: try JOSEProperty.check(bytes)
        }
    }
}

// Chosen before the first input, by the only thread; libFuzzer takes a function without a context.
private nonisolated(unsafe) var property = Property.json

/// Checks one input; a property that does not hold ends the process, which libFuzzer reports with the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do {
        try property.check(UnsafeBufferPointer(start: bytes, count: count).span)
    } catch {
        fatalError("\(error)")
    }
    return 0
}

/// `FuzzDriver NAME …`: the rest of the arguments is libFuzzer's.
@main
struct Driver {
    static func main() {
        let names = Property.allCases.map(\.rawValue).joined(separator: ", ")
        guard CommandLine.arguments.count > 1, let chosen = Property(rawValue: CommandLine.arguments[1])
        else {
            fatalError("the first argument is one of \(names)")
        }
        property = chosen
        // The name is taken out: libFuzzer would take it for a corpus.
        var arguments = CommandLine.unsafeArgv + 1
        arguments[0] = CommandLine.unsafeArgv[0]
        var count = CommandLine.argc - 1
        _ = runDriver(&count, &arguments) { testOneInput($0, $1) }
    }
}
