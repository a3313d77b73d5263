/// What a database is once its hot journal is rolled back, reckoned in memory and without touching either file.
///
/// SQLite rolls back when it opens a file to write, and cannot be asked to only look. But whether the key is the right one has
/// to be known before anything is touched, so the roll-back is done here first, on a copy of the bytes. The format is SQLite's
/// ("Database File Format", section 3): segments of `header, records`, each header at the start of a sector.
///
///     header: magic (8), records (4), nonce (4), pages before (4), sector bytes (4), page bytes (4)
///     record: page number (4), page, checksum (4)         all numbers most significant byte first
package enum RollbackJournal {
    private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    // The byte range that locks use; its page is never written.
    private static let pendingByte = 0x4000_0000

    /// Whether SQLite would roll `journal` back when it opens the database beside it.
    package static func isHot(_ journal: [UInt8]) -> Bool {
        guard let first = journal.first else { return false }
        return first != 0
    }

    /// The database before the transaction that `journal` undoes.
    package static func rollBack(_ database: [UInt8], journal: [UInt8]) -> [UInt8] {
        var result = database
        var restored = Set<Int>()
        var position = 0
        var isFirst = true
        while let header = Header(journal, at: position) {
            if isFirst {
                // What was there is in the database still, or in the journal; a header that claims more is damaged.
                guard header.pagesBefore * header.pageLength <= database.count + journal.count else {
                    return result
                }
                // Pages that were added go, a page that was cut off comes back from its record.
                resize(&result, to: header.pagesBefore * header.pageLength)
                isFirst = false
            }
            position += header.sectorLength
            let recordLength = header.pageLength + 8
            let count =
                header.records == 0xFFFF_FFFF ? (journal.count - position) / recordLength : header.records
            for _ in 0..<count {
                guard position + recordLength <= journal.count else { return result }
                let page = number(journal, position)
                let content = (position + 4)..<(position + 4 + header.pageLength)
                guard page > 0, page != pendingByte / header.pageLength + 1 else { return result }
                position += recordLength
                if page > header.pagesBefore || restored.contains(page) { continue }
                guard checksum(journal, content, header.nonce) == number(journal, content.upperBound) else {
                    return result
                }
                restored.insert(page)
                let start = (page - 1) * header.pageLength
                // A later header that knows of more or larger pages than the first one is damage.
                guard start + header.pageLength <= result.count else { return result }
                result.replaceSubrange(start..<(start + header.pageLength), with: journal[content])
            }
            // The next header stands at the next sector.
            let rest = position % header.sectorLength
            if rest > 0 { position += header.sectorLength - rest }
        }
        return result
    }

    private struct Header {
        let records: Int
        let nonce: UInt32
        let pagesBefore: Int
        let sectorLength: Int
        let pageLength: Int

        init?(_ journal: [UInt8], at position: Int) {
            guard position + 28 <= journal.count,
                journal[position..<(position + 8)].elementsEqual(RollbackJournal.magic)
            else { return nil }
            records = RollbackJournal.number(journal, position + 8)
            nonce = UInt32(RollbackJournal.number(journal, position + 12))
            pagesBefore = RollbackJournal.number(journal, position + 16)
            sectorLength = RollbackJournal.number(journal, position + 20)
            pageLength = RollbackJournal.number(journal, position + 24)
            guard (32...0x10000).contains(sectorLength), sectorLength.nonzeroBitCount == 1,
                (512...0x10000).contains(pageLength), pageLength.nonzeroBitCount == 1,
                position + sectorLength <= journal.count
            else { return nil }
        }
    }

    private static func resize(_ bytes: inout [UInt8], to length: Int) {
        if bytes.count > length {
            bytes.removeLast(bytes.count - length)
        } else {
            bytes.append(contentsOf: repeatElement(0, count: length - bytes.count))
        }
    }

    private static func number(_ bytes: [UInt8], _ position: Int) -> Int {
        (0..<4).reduce(0) { $0 << 8 | Int(bytes[position + $1]) }
    }

    private static func checksum(_ bytes: [UInt8], _ page: Range<Int>, _ nonce: UInt32) -> Int {
        var sum = nonce
        var offset = page.count - 200
        while offset > 0 {
            sum &+= UInt32(bytes[page.lowerBound + offset])
            offset -= 200
        }
        return Int(sum)
    }
}
