package import Secrets

/// What a walk over all segments found.
package struct AuditVerification: Equatable, Sendable {
    /// Segments that were read.
    package var segments = 0
    /// Lines that are as they were written.
    package var lines = 0
    /// Numbers of the first and the last good line; older ones were removed by rotation.
    package var firstSequence: Int64?
    /// Number of the last good line.
    package var lastSequence: Int64?
    /// The first thing that is not as it was written; nil: all is.
    package var fault: Fault?
    /// Segments that the writer itself began for another reason than that the one before was full, and why.
    package var notes: [Note] = []

    /// What is not as it was written, and where.
    package struct Fault: Equatable, Sendable {
        /// The number in the segment's name.
        package let segment: Int64
        /// Counts from 1; 0 where it is the segment as a whole.
        package let line: Int
        /// What is wrong there.
        package let kind: Kind

        /// A fault at a line of a segment.
        package init(segment: Int64, line: Int, kind: Kind) {
            self.segment = segment
            self.line = line
            self.kind = kind
        }
    }

    /// In what way a line or a segment is wrong.
    package enum Kind: String, Sendable {
        /// Not a line of this log.
        case malformed
        /// The line does not follow the one before: something was changed, left out or put in.
        case chain
        /// The number does not follow.
        case sequence
        /// The line is cut off and the segment behind it does not say so.
        case torn
        /// A segment between two others is not there.
        case segmentMissing = "segment_missing"
        /// The head is not there or not ours.
        case head
        /// The head knows of more lines than there are: the end was cut off.
        case truncated
    }

    /// A segment that the writer began because something had gone wrong.
    package struct Note: Equatable, Sendable {
        /// The number in the segment's name.
        package let segment: Int64
        /// The word in the segment's first line.
        package let reason: String

        /// What a segment says of why it was begun.
        package init(segment: Int64, reason: String) {
            self.segment = segment
            self.reason = reason
        }
    }

    /// Reads the whole log in `directory`.
    ///
    /// A line that is torn at the very end is no fault: the daemon may just be writing it, or stopped in it and was not started
    /// since.
    package static func verify(directory path: String, key: SecretBytes) throws(AuditFailure) -> Self {
        guard key.count == 32 else { throw .keyLength(key.count) }
        let directory = try AuditDirectory(path: path, isForWriting: false)
        // The head first: lines that come meanwhile make it older, never newer.
        let head = AuditHead.read(directory, key: key)
        let numbers = try directory.segments()
        let reader = AuditReader(key: key)
        var result = AuditVerification()
        var previous: AuditChain?
        // What was wrong at the end of the segment before, until the next one explains it.
        var unexplained: Fault?
        for (index, number) in numbers.enumerated() {
            if index > 0, number != numbers[index - 1] + 1, result.fault == nil {
                result.fault = Fault(segment: number, line: 0, kind: .segmentMissing)
            }
            let bytes = try directory.read(AuditDirectory.name(number))
            result.segments += 1
            if bytes.isEmpty { continue }
            let found = reader.read(bytes, after: previous)
            let explains =
                found.reason == SegmentReason.tornLine.rawValue
                || found.reason == SegmentReason.failed.rawValue
            // A segment of nothing but a torn line explains nothing, and needs to be explained itself.
            if found.last != nil {
                if let fault = unexplained, !explains { result.fault = result.fault ?? fault }
                unexplained = nil
                if found.number != number {
                    result.fault = result.fault ?? Fault(segment: number, line: 1, kind: .sequence)
                }
            }
            if let reason = found.reason, found.last != nil, reason != SegmentReason.rotated.rawValue,
                reason != SegmentReason.first.rawValue
            {
                result.notes.append(Note(segment: number, reason: reason))
            }
            result.lines += found.lines
            if let last = found.last {
                result.firstSequence = result.firstSequence ?? last.sequence - Int64(found.lines) + 1
                result.lastSequence = last.sequence
                previous = last
            }
            if let fault = found.fault {
                let here = Fault(
                    segment: number, line: found.lines + 1, kind: Kind(rawValue: fault.rawValue) ?? .malformed
                )
                if fault == .torn {
                    unexplained = unexplained ?? here
                } else {
                    result.fault = result.fault ?? unexplained ?? here
                }
            }
        }
        if result.fault == nil, result.lines > 0 {
            let newest = numbers.last ?? 0
            if let head {
                if head.sequence > result.lastSequence ?? 0 {
                    result.fault = Fault(segment: newest, line: 0, kind: .truncated)
                }
            } else {
                result.fault = Fault(segment: newest, line: 0, kind: .head)
            }
        }
        return result
    }
}
