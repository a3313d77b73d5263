import CLinux
import CSodium
package import CredentialCore
import Glibc
package import Secrets

/// Appends lines to the newest segment, begins the next one, and removes the oldest.
///
/// Either a line is in the log or its entry is reported as not written: what a failed write left behind is cut off, and where that
/// fails too the segment is given up as it is. Nothing that cannot be read is ever changed or reused.
///
/// One thread at a time: whoever made it until the audit thread starts, then that thread alone; hence `@unchecked`.
package final class AuditWriter: @unchecked Sendable {
    /// Like write(2): bytes taken, or -1 with errno.
    package typealias Write = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

    private let directory: AuditDirectory
    private let key: SecretBytes
    private let segmentBytes: Int
    private let segmentCount: Int
    private let write: Write

    private var chain: AuditChain
    private var segment: Int64
    private var descriptor: Int32 = -1
    private var size = 0
    private var startReason: SegmentReason
    private var lost: Int64 = 0
    /// Whether lines were written that may not be on disk yet.
    package private(set) var needsSync = false
    /// The errno of the last failure; 0 after a success.
    package private(set) var lastFailure: Int32 = 0

    /// Opens the log as `AuditLog` does; `write` stands in for write(2).
    package init(
        directory path: String, key: SecretBytes, segmentBytes: Int, segmentCount: Int,
        write: @escaping Write = { Glibc.write($0, $1.baseAddress, $1.count) }
    ) throws(AuditFailure) {
        guard key.count == 32 else { throw .keyLength(key.count) }
        _ = sodium_init()
        directory = try AuditDirectory(path: path, isForWriting: true)
        self.key = key
        self.segmentBytes = segmentBytes
        self.segmentCount = segmentCount
        self.write = write
        let state = try AuditRecovery.find(in: directory, key: key, segmentBytes: segmentBytes)
        chain = state.chain
        segment = state.segment
        startReason = state.reason
        // At once, so that a log that cannot be written shows at the start.
        try openSegment()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    private func openSegment() throws(AuditFailure) {
        // The oldest goes first: on a full disk its space is what the new one gets. Only a full segment makes an old one go: a disk
        // that fails again and again must not cost what is there.
        if startReason == .rotated {
            let others = try directory.segments().filter { $0 != segment }
            for old in others.dropLast(segmentCount - 1) { directory.remove(old) }
        }
        (descriptor, size) = try directory.open(segment, reserving: segmentBytes)
    }

    /// Writes the lines of `entries`, in order, and answers how many are in the log; those behind are not.
    package func append(_ entries: [AuditEntry]) -> Int {
        var written = 0
        while written < entries.count {
            guard isOpen() else { break }
            let (text, end, next) = lines(entries, from: written)
            guard put(text) else { break }
            chain = next
            size += text.count
            written = end
            if written < entries.count { leaveSegment(.rotated) }
        }
        lost += Int64(entries.count - written)
        return written
    }

    // As many lines as the segment takes; what begins a segment and what was lost comes before them.
    private func lines(
        _ entries: [AuditEntry], from start: Int
    ) -> (text: [UInt8], end: Int, chain: AuditChain) {
        var text: [UInt8] = []
        var chain = chain
        let time = entries[start].time
        if size == 0 {
            AuditLine.appendSegmentStart(
                segment, reason: startReason, time: time, to: &text, &chain, key: key)
        }
        if lost > 0 { AuditLine.appendLoss(lost, time: time, to: &text, &chain, key: key) }
        var end = start
        while end < entries.count {
            let length = text.count
            let before = chain
            AuditLine.append(entries[end], to: &text, &chain, key: key)
            // A new segment takes at least one entry, so that this ends for every size.
            if size + text.count > segmentBytes, size > 0 || end > start {
                text.removeLast(text.count - length)
                chain = before
                break
            }
            end += 1
        }
        return (text, end, chain)
    }

    private func isOpen() -> Bool {
        if descriptor >= 0 { return true }
        do throws(AuditFailure) {
            try openSegment()
            return true
        } catch {
            switch error {
            case .directory(let code), .segment(let code), .thread(let code), .key(let code):
                lastFailure = code
            case .directoryUnsafe, .keyLength, .keyUnsafe: lastFailure = EACCES
            }
            return false
        }
    }

    private func put(_ text: [UInt8]) -> Bool {
        guard !text.isEmpty else { return true }
        var done = 0
        while done < text.count {
            let count = text.withUnsafeBytes {
                write(descriptor, UnsafeRawBufferPointer(rebasing: $0[done...]))
            }
            if count > 0 {
                done += count
                continue
            }
            let code = count < 0 ? errno : EIO
            if code == EINTR { continue }
            lastFailure = code
            let isClean = done == 0 || ftruncate(descriptor, off_t(size)) == 0
            // A full disk empties again, and what was reserved is reserved still; anything else may stay broken.
            if !isClean || (size > 0 && code != ENOSPC && code != EDQUOT) { leaveSegment(.failed) }
            return false
        }
        lost = 0
        needsSync = true
        lastFailure = 0
        return true
    }

    private func leaveSegment(_ reason: SegmentReason) {
        if reason == .rotated { sync() }
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        segment += 1
        size = 0
        startReason = reason
    }

    /// Waits until what was written is on disk.
    ///
    /// - Returns: false when the disk failed; what was written since the last sync may be lost.
    @discardableResult
    package func sync() -> Bool {
        guard needsSync else { return true }
        needsSync = false
        guard descriptor >= 0, fdatasync(descriptor) == 0 else {
            lastFailure = errno
            leaveSegment(.failed)
            return false
        }
        AuditHead.write(chain, to: directory, key: key)
        return true
    }
}
