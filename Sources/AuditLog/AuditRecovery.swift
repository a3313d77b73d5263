import Secrets

/// Finds out where a log goes on after a restart.
enum AuditRecovery {
    struct State {
        let chain: AuditChain
        /// The segment to append to; a new one where the newest is full, or not as it was left.
        let segment: Int64
        let reason: SegmentReason
    }

    static func find(
        in directory: borrowing AuditDirectory, key: SecretBytes, segmentBytes: Int
    ) throws(AuditFailure) -> State {
        let numbers = try directory.segments()
        guard let newest = numbers.last else { return State(chain: .start, segment: 1, reason: .first) }
        let reader = AuditReader(key: key)
        let head = AuditHead.read(directory, key: key)
        var reason: SegmentReason?
        var isNewestEmpty = false
        for number in numbers.reversed() {
            let bytes = try directory.read(AuditDirectory.name(number))
            if bytes.isEmpty {
                // Made, and then the power went: as good as new.
                isNewestEmpty = isNewestEmpty || number == newest
                continue
            }
            let found = reader.read(bytes, after: nil)
            guard let last = found.last else {
                reason = found.fault == .torn ? reason ?? .tornLine : .damaged
                continue
            }
            if let head, head.sequence > last.sequence {
                reason = .truncated
            } else if found.fault == .torn {
                reason = reason ?? .tornLine
            } else if found.fault != nil {
                reason = .damaged
            }
            if reason == nil, number == newest, bytes.count < segmentBytes {
                return State(chain: last, segment: number, reason: .rotated)
            }
            return State(
                chain: last, segment: isNewestEmpty ? newest : newest + 1, reason: reason ?? .rotated)
        }
        return State(
            chain: .start, segment: isNewestEmpty ? newest : newest + 1,
            reason: reason ?? (head == nil ? .first : .truncated))
    }
}
