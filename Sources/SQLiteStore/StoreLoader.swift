import CredentialCore
import Secrets

/// A row as the store's thread remembers it: enough to replace it, and to take it out of the sum.
struct RowEntry {
    /// Key of the row in `record`.
    let id: Int64
    let generation: Int64
    let hash: RowSum
}

/// Everything that a store holds, read and found to be what was written.
struct LoadedStore {
    let version: Int64
    let header: KeyHeader
    let keys: DataKeys
    var head: Head
    var code: [UInt8]
    var rows: [RowKey: RowEntry]
    var sum: RowSum
    let contents: StoreContents
}

/// Reads a whole store and believes nothing: structure, schema, key, each row, and at last the head over all of them.
enum StoreLoader {
    /// Reads the store behind `connection`, which may be one that cannot write.
    static func load(
        _ connection: Connection, master: GuardedMemory, format: StoreFormat
    ) throws(StoreFailure) -> LoadedStore {
        let version = try checkVersion(connection, format)
        try checkStructure(connection, version, format)
        let header = try readKeyHeader(connection)
        let keys = try DataKeys.unwrap(header, master: master)
        let (head, code) = try Head.read(connection)
        var reading = Reading(header: header)
        try keys.withKeys { keys throws(StoreFailure) in
            try reading.readRows(connection, keys)
            guard head.rowCount == Int64(reading.rows.count),
                Seal.isEqual(
                    code, head.code(version: version, header: header, rows: reading.sum, keys: keys))
            else { throw .corrupt(detail: .head) }
        }
        let contents = StoreContents(
            credentials: reading.credentials, accounts: try reading.pairedAccounts(),
            grants: reading.grants, secrets: reading.secrets, states: reading.states,
            lastWrittenAt: head.lastWrittenAt,
            epoch: head.epoch)
        return LoadedStore(
            version: version, header: header, keys: keys, head: head, code: code, rows: reading.rows,
            sum: reading.sum, contents: contents)
    }

    /// The version of a store that this program can read.
    static func checkVersion(_ connection: Connection, _ format: StoreFormat) throws(StoreFailure) -> Int64 {
        let version = try connection.userVersion
        guard version <= format.version else { throw .tooNew(version: version) }
        guard version >= 1 else { throw .corrupt(detail: .header) }
        return version
    }

    private static func checkStructure(
        _ connection: Connection, _ version: Int64, _ format: StoreFormat
    ) throws(StoreFailure) {
        let schema = try Statement(connection, "SELECT type, sql FROM sqlite_schema")
        var tables: [String] = []
        while try schema.step() {
            guard schema.text(0) == "table", let text = schema.text(1) else {
                throw .corrupt(detail: .schema)
            }
            tables.append(text)
        }
        guard tables.sorted() == format[version]?.tables.sorted() else { throw .corrupt(detail: .schema) }
        // Damage to the tree itself would show only when a row is written there.
        let check = try Statement(connection, "PRAGMA quick_check(1)")
        guard try check.step(), check.text(0) == "ok" else { throw .corrupt(detail: .database) }
    }

    /// Reads which store it is, and its one data key.
    static func readKeyHeader(_ connection: Connection) throws(StoreFailure) -> KeyHeader {
        let statement = try Statement(
            connection,
            "SELECT store_id, data_key.id, master_check, wrapped FROM store, data_key")
        guard try statement.step(), let storeID = statement.blob(0), storeID.count == 16,
            let masterCheck = statement.blob(2), let wrapped = statement.blob(3)
        else { throw .corrupt(detail: .header) }
        let header = KeyHeader(
            storeID: storeID, dataKeyID: statement.integer(1), masterCheck: masterCheck, wrapped: wrapped)
        guard try !statement.step() else { throw .corrupt(detail: .header) }
        return header
    }

    private struct Reading {
        let header: KeyHeader
        var rows: [RowKey: RowEntry] = [:]
        var sum = RowSum.zero
        var credentials: [StoredCredential] = []
        var grants: [StoredGrant] = []
        var secrets: [HeldSecret] = []
        var states: [StoredState] = []
        private var definitions: [AccountName: (generation: Int64, content: SecretBytes)] = [:]
        private var policies: [AccountName: (generation: Int64, content: SecretBytes)] = [:]

        init(header: KeyHeader) { self.header = header }

        mutating func readRows(_ connection: Connection, _ keys: OpenKeys) throws(StoreFailure) {
            let statement = try Statement(
                connection, "SELECT id, kind, name, generation, data_key, sealed FROM record")
            while try statement.step() {
                guard let kind = statement.text(1).flatMap(RowKind.init(rawValue:)),
                    let name = statement.text(2).flatMap(AccountName.init(_:))
                else { throw .corrupt(detail: .row) }
                let sealed = statement.blob(5)
                guard sealed != nil || statement.isNull(5) else { throw .corrupt(detail: .row) }
                let row = SealedRow(
                    key: RowKey(kind: kind, name: name), generation: statement.integer(3),
                    dataKeyID: statement.integer(4), sealed: sealed)
                try take(row, id: statement.integer(0), keys)
            }
        }

        private mutating func take(_ row: SealedRow, id: Int64, _ keys: OpenKeys) throws(StoreFailure) {
            let hash = row.hash(storeID: header.storeID, keys: keys)
            sum += hash
            let entry = RowEntry(id: id, generation: row.generation, hash: hash)
            guard rows.updateValue(entry, forKey: row.key) == nil else { throw .corrupt(detail: .row) }
            let generation = Generation(row.generation)
            if row.sealed == nil {
                guard row.key.kind.keepsGeneration, row.dataKeyID == header.dataKeyID else {
                    throw .corrupt(detail: .row)
                }
            }
            if row.key.kind == .credential {
                credentials.append(try row.credential(header: header, keys: keys))
                return
            }
            guard let sealed = row.sealed else {
                grants.append(StoredGrant(name: row.key.name, generation: generation, held: nil))
                return
            }
            var plain = SecretBuffer(capacity: sealed.count)
            do throws(SealFailure) {
                try row.open(header: header, keys: keys, into: &plain)
            } catch {
                throw .corrupt(detail: .row)
            }
            switch row.key.kind {
            case .credential: break
            case .account: definitions[row.key.name] = (row.generation, plain.finish())
            case .policy: policies[row.key.name] = (row.generation, plain.finish())
            case .grant:
                let held = plain.withSpan {
                    GrantRecord.decode($0, name: row.key.name, generation: generation)
                }
                guard let held else { throw .corrupt(detail: .row) }
                grants.append(StoredGrant(name: row.key.name, generation: generation, held: held))
            case .secret:
                let held = plain.withSpan {
                    SecretRecord.decode($0, name: row.key.name, generation: generation)
                }
                guard let held else { throw .corrupt(detail: .row) }
                secrets.append(held)
            case .platform:
                states.append(StoredState(name: .account(row.key.name), content: plain.finish()))
            case .device:
                states.append(StoredState(name: .device(row.key.name), content: plain.finish()))
            }
        }

        /// Each account with the policy that was written together with it.
        func pairedAccounts() throws(StoreFailure) -> [StoredAccount] {
            guard definitions.count == policies.count else { throw .corrupt(detail: .row) }
            var accounts: [StoredAccount] = []
            for (name, definition) in definitions.sorted(by: { $0.key < $1.key }) {
                guard let policy = policies[name], policy.generation == definition.generation else {
                    throw .corrupt(detail: .row)
                }
                accounts.append(
                    StoredAccount(name: name, definition: definition.content, policy: policy.content))
            }
            return accounts
        }
    }
}
