import CredentialCore
import SQLiteStore
import Secrets

/// What holds for every content of the store's files.
package enum StoreProperty {
    /// A way in which bytes showed the store to be wrong.
    package enum Violation: Error, Equatable, Sendable {
        case recordIsNotStable
        case rollBackIsNotStable
        case imageIsTooLarge
    }

    /// Takes `bytes` for a record, and for a database of as many sectors as the first byte says with a journal behind it.
    package static func check(_ bytes: Span<UInt8>) throws(Violation) {
        try checkRecord(bytes)
        guard bytes.count > 0 else { return }
        let all = bytes.withUnsafeBufferPointer(Array.init)
        let split = min(all.count, 1 + Int(all[0]) * 512)
        try checkJournal(database: Array(all[1..<split]), journal: Array(all[split...]))
    }

    private static func checkRecord(_ bytes: Span<UInt8>) throws(Violation) {
        guard let held = CredentialRecord.decode(bytes, generation: Generation(1)) else { return }
        let first = encoded(held)
        guard let again = first.withSpan({ CredentialRecord.decode($0, generation: Generation(1)) }),
            encoded(again).isEqual(to: first)
        else { throw .recordIsNotStable }
    }

    private static func encoded(_ held: HeldCredential) -> SecretBytes {
        var buffer = SecretBuffer()
        CredentialRecord.encode(held, into: &buffer)
        return buffer.finish()
    }

    private static func checkJournal(database: [UInt8], journal: [UInt8]) throws(Violation) {
        guard RollbackJournal.isHot(journal) else { return }
        let image = RollbackJournal.rollBack(database, journal: journal)
        // A damaged header may not make the image larger than what is there to fill it.
        guard image.count <= max(database.count, database.count + journal.count) else {
            throw .imageIsTooLarge
        }
        // What is rolled back is what it was: doing it again changes nothing.
        guard RollbackJournal.rollBack(image, journal: journal) == image else { throw .rollBackIsNotStable }
    }
}
