import CredentialCore

/// What the store says of itself as a whole, authenticated: how many commits there were, and which rows there are.
struct Head: Equatable {
    /// Counts commits; a new store has 1.
    var epoch: Int64
    var lastWrittenAt: WallTime
    var rowCount: Int64

    /// The authentication code over version, store, data key, all fields, and the sum of the rows' hashes.
    func code(version: Int64, header: KeyHeader, rows: RowSum, keys: OpenKeys) -> [UInt8] {
        var data = AssociatedData()
        data.append("chatauth head 1")
        data.append(version)
        data.append(bytes: header.storeID)
        data.append(header.dataKeyID)
        data.append(epoch)
        data.append(lastWrittenAt.milliseconds)
        data.append(rowCount)
        data.append(bytes: rows.bytes)
        return Seal.keyedHash(data.bytes, key: keys[.head])
    }

    /// Reads the head and its code.
    static func read(_ connection: Connection) throws(StoreFailure) -> (head: Head, code: [UInt8]) {
        let statement = try Statement(
            connection, "SELECT epoch, last_written_ms, row_count, code FROM head WHERE id = 1")
        guard try statement.step(), let code = statement.blob(3) else { throw .corrupt(detail: .head) }
        let head = Head(
            epoch: statement.integer(0), lastWrittenAt: WallTime(milliseconds: statement.integer(1)),
            rowCount: statement.integer(2))
        return (head, code)
    }
}
