import FuzzProperties
import JSONRPC
import TestSupport
import Testing

@Suite struct `Line framer` {
    private enum Refusal: Error, Equatable { case refused }

    private func frames(_ pieces: [String], limit: Int = 8) -> ([String], isTooLong: Bool, pending: Int) {
        var framer = LineFramer(limit: limit)
        var frames: [String] = []
        for piece in pieces {
            let bytes = Array(piece.utf8)
            do throws(FramingFailure<Never>) {
                try framer.push(bytes.span) { (frame: Span<UInt8>) in
                    frames.append(frame.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
                }
            } catch {
                return (frames, true, framer.pendingBytes)
            }
        }
        return (frames, false, framer.pendingBytes)
    }

    @Test(
        arguments: [
            ([], [], 0), ([""], [], 0), (["a"], [], 1), (["a\n"], ["a"], 0), (["a\r\n"], ["a"], 0),
            (["a\nb\r\nc"], ["a", "b"], 1), (["\n\r\n\n"], [], 0), (["\r"], [], 1), (["\r", "\n"], [], 0),
            (["a", "b", "\n"], ["ab"], 0), (["a\r", "\nb\n"], ["a", "b"], 0), (["a\rb\n"], ["a\rb"], 0),
            (["a\r\r\n"], ["a\r"], 0), (["a", "\nb\nc", "\n"], ["a", "b", "c"], 0), ([" \n"], [" "], 0),
        ] as [([String], [String], Int)])
    func `a frame ends at a line end, and empty lines are none`(
        pieces: [String], expected: [String], pending: Int
    ) {
        let (frames, isTooLong, rest) = frames(pieces)
        #expect(frames == expected)
        #expect(!isTooLong)
        #expect(rest == pending)
    }

    @Test(
        arguments: [
            (["12345678\n"], 1, false), (["12345678\r\n"], 1, false), (["12345678"], 0, false),
            (["12345678\r"], 0, false), (["1234", "5678", "\r", "\n"], 1, false),
            (["a\n123456789\nb\n"], 1, true),
            (["123456789"], 0, true), (["12345678", "9"], 0, true), (["12345678\r\r\n"], 0, true),
            (["12345678\r", "\r"], 0, true), (["12345678\r", "x\n"], 0, true),
            (["1234", "56789\n"], 0, true),
        ] as [([String], Int, Bool)])
    func `a frame is as long as the limit and no longer`(pieces: [String], count: Int, isTooLong: Bool) {
        let outcome = frames(pieces)
        #expect(outcome.0.count == count)
        #expect(outcome.isTooLong == isTooLong)
        if isTooLong { #expect(outcome.pending == 0) }
    }

    @Test func `a stream that went wrong stays wrong`() {
        var framer = LineFramer(limit: 2)
        let long = Array("123\n".utf8)
        let short = Array("1\n".utf8)
        for bytes in [long, short, []] {
            #expect(throws: FramingFailure<Never>.frameTooLong) {
                try framer.push(bytes.span) { (_: Span<UInt8>) throws(Never) in Issue.record("a frame") }
            }
        }
        #expect((framer.hasPartialFrame) == false)
    }

    @Test func `what the receiver throws comes out, and ends the stream`() {
        for pieces in [["a\nb\nc"], ["a\n", "b", "\nc"]] {
            var framer = LineFramer()
            var seen = 0
            var failures: [FramingFailure<Refusal>] = []
            for piece in pieces + ["d\n"] {
                let bytes = Array(piece.utf8)
                do throws(FramingFailure<Refusal>) {
                    try framer.push(bytes.span) { (frame: Span<UInt8>) throws(Refusal) in
                        seen += 1
                        if frame[0] == UInt8(ascii: "b") { throw .refused }
                    }
                } catch {
                    failures.append(error)
                }
            }
            #expect(seen == 2)
            #expect(failures == [.consumer(.refused), .frameTooLong])
            #expect((framer.hasPartialFrame) == false)
        }
    }

    @Test func `a frame that lies in one push is lent where it is`() throws {
        var framer = LineFramer()
        let bytes = Array("12\n34".utf8)
        try bytes.withUnsafeBufferPointer { all in
            try framer.push(all.span) { (frame: Span<UInt8>) throws(Never) in
                let isInPlace = frame.withUnsafeBufferPointer { $0.baseAddress == all.baseAddress }
                #expect(isInPlace)
            }
        }
        #expect(framer.pendingBytes == 2)
        #expect((framer.hasPartialFrame) == true)
    }

    @Test func `how a stream is split never shows`() throws {
        var generator = SeededGenerator.announced(for: "splits")
        for _ in 0..<3000 {
            let limit = Int.random(in: 0...24, using: &generator)
            let stream = (0..<Int.random(in: 0...120, using: &generator)).map { _ -> UInt8 in
                switch Int.random(in: 0...9, using: &generator) {
                case 0, 1: UInt8(ascii: "\n")
                case 2: UInt8(ascii: "\r")
                default: UInt8.random(in: .min ... .max, using: &generator)
                }
            }
            try FramingProperty.check(stream.span, limit: limit)
            let whole = try FramingProperty.outcome(stream.span, limit: limit) { _ in stream.count }
            #expect(whole == naive(stream, limit: limit))
        }
    }

    // What the framer should say, with the whole stream at hand.
    private func naive(_ stream: [UInt8], limit: Int) -> FramingProperty.Outcome {
        var outcome = FramingProperty.Outcome()
        var lines = stream.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(
            Array.init)
        let tail = lines.removeLast()
        for line in lines {
            let content = line.last == UInt8(ascii: "\r") ? Array(line.dropLast()) : line
            guard content.count <= limit else {
                outcome.isTooLong = true
                return outcome
            }
            if !content.isEmpty { outcome.frames.append(content) }
        }
        outcome.isTooLong = (tail.last == UInt8(ascii: "\r") ? tail.count - 1 : tail.count) > limit
        return outcome
    }

    @Test func `the fuzz corpus holds its property`() throws {
        let directory = Files.packageRoot + "/Fuzz/Corpus/FuzzJSONRPC"
        let names = Files.names(in: directory)
        #expect(!names.isEmpty)
        for name in names {
            let bytes = try #require(Files.bytes(at: "\(directory)/\(name)"))
            #expect(throws: Never.self, "\(name)") { try FramingProperty.check(bytes.span) }
        }
    }
}
