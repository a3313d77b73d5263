import CredentialCore
import Secrets

/// What a row is; a new kind needs no new table.
enum RowKind: String {
    case credential, account, policy, grant, secret, platform, device

    /// Whether a deleted one leaves its generation behind, so that the number never goes back.
    var keepsGeneration: Bool { self == .credential || self == .grant }
}

/// Which row.
struct RowKey: Hashable {
    let kind: RowKind
    let name: AccountName
}

extension RowKey {
    init(_ state: PlatformStateName) {
        switch state {
        case .account(let name): self.init(kind: .platform, name: name)
        case .device(let name): self.init(kind: .device, name: name)
        }
    }
}

/// A row of the table `record` as it is stored: what is in clear, and the sealed rest.
struct SealedRow {
    let key: RowKey
    /// A credential's generation; for an account and its policy the epoch of the commit that wrote both, for states the same.
    let generation: Int64
    let dataKeyID: Int64
    /// Nil: nothing is kept but the generation.
    let sealed: [UInt8]?

    /// Version of what sealed values are bound to; another one than the schema's, so that a migration need not seal all rows anew.
    static let format: Int64 = 1

    /// What the sealed value is bound to: format, store, table, column, row, data key, generation.
    static func associatedData(
        _ key: RowKey, generation: Int64, storeID: [UInt8], dataKeyID: Int64
    ) -> AssociatedData {
        var data = AssociatedData()
        data.append(format)
        data.append(bytes: storeID)
        data.append(key.kind.rawValue)
        data.append("sealed")
        data.append(key.name.text)
        data.append(dataKeyID)
        data.append(generation)
        return data
    }

    /// What the row adds to the sum that the head authenticates: all of the above, and nonce and tag of the value.
    func hash(storeID: [UInt8], keys: OpenKeys) -> RowSum {
        var data = Self.associatedData(key, generation: generation, storeID: storeID, dataKeyID: dataKeyID)
        if let sealed {
            data.append(bytes: sealed.prefix(Seal.nonceLength), sealed.suffix(Seal.tagLength))
        } else {
            data.append(bytes: [])
        }
        return RowSum(hash: Seal.keyedHash(data.bytes, key: keys[.rowHashes]))
    }

    /// Seals `content` into a row.
    init(
        _ key: RowKey, generation: Int64, content: Span<UInt8>, header: KeyHeader, keys: OpenKeys,
        random: RandomSource
    ) {
        let data = Self.associatedData(
            key, generation: generation, storeID: header.storeID, dataKeyID: header.dataKeyID)
        self.init(
            key: key, generation: generation, dataKeyID: header.dataKeyID,
            sealed: Seal.seal(content, key: keys[.rows], associatedData: data.bytes, random: random))
    }

    init(key: RowKey, generation: Int64, dataKeyID: Int64, sealed: [UInt8]?) {
        self.key = key
        self.generation = generation
        self.dataKeyID = dataKeyID
        self.sealed = sealed
    }

    /// What the row of a credential holds.
    func credential(header: KeyHeader, keys: OpenKeys) throws(StoreFailure) -> StoredCredential {
        let generation = Generation(self.generation)
        guard let sealed else {
            return StoredCredential(account: key.name, generation: generation, held: nil)
        }
        var plain = SecretBuffer(capacity: sealed.count)
        do throws(SealFailure) {
            try open(header: header, keys: keys, into: &plain)
        } catch {
            throw .corrupt(detail: .row)
        }
        guard let held = plain.withSpan({ CredentialRecord.decode($0, generation: generation) }) else {
            throw .corrupt(detail: .row)
        }
        return StoredCredential(account: key.name, generation: generation, held: held)
    }

    /// Appends the content to `plaintext`.
    func open(header: KeyHeader, keys: OpenKeys, into plaintext: inout SecretBuffer) throws(SealFailure) {
        guard let sealed, dataKeyID == header.dataKeyID else { throw .forged }
        let data = Self.associatedData(
            key, generation: generation, storeID: header.storeID, dataKeyID: dataKeyID)
        try Seal.open(sealed.span, key: keys[.rows], associatedData: data.bytes, into: &plaintext)
    }
}
