import CredentialCore
import Secrets

/// The statements that change rows and read them.
struct RowStatements {
    private let select: Statement
    private let insert: Statement
    private let update: Statement
    private let delete: Statement
    private let updateHead: Statement

    init(_ connection: Connection) throws(StoreFailure) {
        select = try Statement(connection, "SELECT generation, data_key, sealed FROM record WHERE id = ?1")
        insert = try Statement(
            connection,
            "INSERT INTO record (kind, name, generation, data_key, sealed) VALUES (?1, ?2, ?3, ?4, ?5)")
        update = try Statement(
            connection, "UPDATE record SET generation = ?2, data_key = ?3, sealed = ?4 WHERE id = ?1")
        delete = try Statement(connection, "DELETE FROM record WHERE id = ?1")
        updateHead = try Statement(
            connection,
            "UPDATE head SET epoch = ?1, last_written_ms = ?2, row_count = ?3, code = ?4 WHERE id = 1")
    }

    /// Reads the row with `id`, believing nothing.
    func read(_ key: RowKey, id: Int64) throws(StoreFailure) -> SealedRow {
        try select.one(.integer(id)) { row throws(StoreFailure) in
            let sealed = row.blob(2)
            guard sealed != nil || row.isNull(2) else { throw .corrupt(detail: .row) }
            return SealedRow(
                key: key, generation: row.integer(0), dataKeyID: row.integer(1), sealed: sealed)
        }
    }

    /// Writes a row, over the one with `id` where that is given; returns its id.
    func put(_ row: SealedRow, over id: Int64?) throws(StoreFailure) -> Int64 {
        if let id {
            try update.run(
                .integer(id), .integer(row.generation), .integer(row.dataKeyID), .blob(row.sealed))
            guard update.changes == 1 else { throw .corrupt(detail: .row) }
            return id
        }
        try insert.run(
            .text(row.key.kind.rawValue), .text(row.key.name.text), .integer(row.generation),
            .integer(row.dataKeyID), .blob(row.sealed))
        return insert.lastRowID
    }

    func remove(_ id: Int64) throws(StoreFailure) {
        try delete.run(.integer(id))
        guard delete.changes == 1 else { throw .corrupt(detail: .row) }
    }

    func replace(_ head: Head, code: [UInt8]) throws(StoreFailure) {
        try updateHead.run(
            .integer(head.epoch), .integer(head.lastWrittenAt.milliseconds), .integer(head.rowCount),
            .blob(code))
        guard updateHead.changes == 1 else { throw .corrupt(detail: .head) }
    }
}

/// What a store will be when the transaction that is open is committed.
///
/// Every reason to refuse a single change is found before its first statement; a statement that fails therefore means that the disk
/// or the file does, and ends the whole group.
struct GroupDraft {
    let header: KeyHeader
    let epoch: Int64
    // The rows as they are now, and what the group makes of some of them: nil where a row is removed. Kept apart, so that a commit
    // never copies the whole index.
    private let base: [RowKey: RowEntry]
    private(set) var changed: [RowKey: RowEntry?] = [:]
    private(set) var rowCount: Int
    private(set) var sum: RowSum
    let statements: RowStatements
    let random: RandomSource
    private(set) var hasWritten = false

    /// Bytes of one value; more is a mistake of the caller that must not cost the whole group.
    private static let contentLimit = 1 << 20

    init(
        header: KeyHeader, epoch: Int64, rows: [RowKey: RowEntry], sum: RowSum, statements: RowStatements,
        random: @escaping RandomSource
    ) {
        self.header = header
        self.epoch = epoch
        base = rows
        rowCount = rows.count
        self.sum = sum
        self.statements = statements
        self.random = random
    }

    /// Makes one change; returns why it is refused, nil when it is made.
    ///
    /// - Throws: why the group cannot go on.
    mutating func apply(
        _ operation: StoreChange.Operation, _ keys: OpenKeys
    ) throws(StoreFailure) -> StoreFailure? {
        switch operation {
        case .putCredential(let account, let held, let expected):
            let key = RowKey(kind: .credential, name: account)
            // The same generation again: what is known of its expiry changes while it stays what it is.
            let isRewritten = expected == held.generation && expected > .none
            if !isRewritten || Generation(self[key]?.generation ?? 0) != expected,
                let conflict = conflict(key, expected: expected, next: held.generation)
            {
                return conflict
            }
            var content = SecretBuffer(capacity: 1024)
            CredentialRecord.encode(held, into: &content)
            try content.withSpan { content throws(StoreFailure) in
                try seal(key, held.generation.number, content, keys)
            }
        case .deleteCredential(let account, let generation, let expected):
            let key = RowKey(kind: .credential, name: account)
            if let conflict = conflict(key, expected: expected, next: generation) { return conflict }
            try put(
                SealedRow(
                    key: key, generation: generation.number, dataKeyID: header.dataKeyID, sealed: nil), keys)
        case .putAccount(let name, let definition, let policy):
            guard max(definition.count, policy.count) <= Self.contentLimit else { return .full }
            for (kind, content) in [(RowKind.account, definition), (.policy, policy)] {
                try content.withSpan { content throws(StoreFailure) in
                    try seal(RowKey(kind: kind, name: name), epoch, content, keys)
                }
            }
        case .deleteAccount(let name):
            for kind in [RowKind.account, .policy, .credential, .platform] {
                try remove(RowKey(kind: kind, name: name))
            }
        case .putGrant(let grant, let expected):
            let key = RowKey(kind: .grant, name: grant.name)
            let stored = Generation(self[key]?.generation ?? 0)
            guard stored == expected, stored <= grant.generation, grant.generation > .none else {
                return .conflict(stored: stored)
            }
            var content = SecretBuffer(capacity: 512)
            GrantRecord.encode(grant, into: &content)
            try content.withSpan { content throws(StoreFailure) in
                try seal(key, grant.generation.number, content, keys)
            }
        case .deleteGrant(let name, let generation, let expected):
            let key = RowKey(kind: .grant, name: name)
            if let conflict = conflict(key, expected: expected, next: generation) { return conflict }
            try put(
                SealedRow(
                    key: key, generation: generation.number, dataKeyID: header.dataKeyID, sealed: nil), keys)
        case .putSecret(let secret):
            var content = SecretBuffer(capacity: 512)
            SecretRecord.encode(secret, into: &content)
            try content.withSpan { content throws(StoreFailure) in
                try seal(
                    RowKey(kind: .secret, name: secret.name), secret.generation.number, content, keys)
            }
        case .deleteSecret(let name): try remove(RowKey(kind: .secret, name: name))
        case .putState(let state, let content):
            guard content.count <= Self.contentLimit else { return .full }
            try content.withSpan { content throws(StoreFailure) in
                try seal(RowKey(state), epoch, content, keys)
            }
        case .deleteState(let state): try remove(RowKey(state))
        }
        return nil
    }

    private subscript(key: RowKey) -> RowEntry? {
        if let changed = changed[key] { changed } else { base[key] }
    }

    private func conflict(_ key: RowKey, expected: Generation, next: Generation) -> StoreFailure? {
        let stored = Generation(self[key]?.generation ?? 0)
        return stored == expected && stored < next ? nil : .conflict(stored: stored)
    }

    private mutating func seal(
        _ key: RowKey, _ generation: Int64, _ content: Span<UInt8>, _ keys: OpenKeys
    ) throws(StoreFailure) {
        try put(
            SealedRow(
                key, generation: generation, content: content, header: header, keys: keys, random: random),
            keys)
    }

    private mutating func put(_ row: SealedRow, _ keys: OpenKeys) throws(StoreFailure) {
        let old = self[row.key]
        hasWritten = true
        let id = try statements.put(row, over: old?.id)
        let hash = row.hash(storeID: header.storeID, keys: keys)
        if let old { sum -= old.hash } else { rowCount += 1 }
        sum += hash
        changed[row.key] = .some(RowEntry(id: id, generation: row.generation, hash: hash))
    }

    private mutating func remove(_ key: RowKey) throws(StoreFailure) {
        guard let old = self[key] else { return }
        hasWritten = true
        try statements.remove(old.id)
        changed[key] = .some(nil)
        rowCount -= 1
        sum -= old.hash
    }
}
