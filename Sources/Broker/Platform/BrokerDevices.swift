package import CredentialCore
package import Providers
import Secrets

/// Installs as platforms know them: made once, before they are first told to anybody, and kept (R77 to R80).
extension Broker {
    /// Whose row an account's device stands in; nil: its own.
    private func sharedDevice(of account: Account) -> AccountName? {
        guard case .chatbase(let agent) = account.definition.platform else { return nil }
        if let device = agent.device { return AccountName(device) }
        // A user's programs are one install; strangers' conversations on a machine of many must not merge (R78).
        return sharesDevices ? Self.usersDevice : nil
    }

    // No account has an `@` at its beginning unless somebody wants trouble, and then it is still only a device.
    private static let usersDevice =
        AccountName("@user") ?? { preconditionFailure("a name of ours is a name") }()

    /// The device of an account; nil: none was needed yet.
    package func device(of account: Account) -> DeviceID? {
        // One that is on its way to the disk is nobody's yet.
        if let change = devicesBeingStored[devicePlace(of: account)] { return change.old }
        guard let shared = sharedDevice(of: account) else { return account.platform?.ownDevice }
        return memory[.device(shared)].flatMap(Self.readDevice)
    }

    /// The same, made where there is none: `completion` comes once it is on disk, within this call where it is.
    package func withDevice(
        of account: Account, completion: @escaping (Result<DeviceID, StoreFailure>) -> Void
    ) {
        let place = devicePlace(of: account)
        if devicesBeingStored[place] == nil, let device = device(of: account) {
            return completion(.success(device))
        }
        if devicesBeingStored[place] != nil {
            devicesBeingStored[place]?.waiting.append(completion)
            return
        }
        storeDevice(account, completion)
    }

    /// Makes a new one in place of the old (R80); answered once it is on disk, and who was signed in with the old one was shown to
    /// the platform with the new one, or could not be.
    package func resetDevice(
        of account: Account, completion: @escaping (Result<DeviceID, StoreFailure>) -> Void
    ) {
        let place = devicePlace(of: account)
        let ended: (Result<DeviceID, StoreFailure>) -> Void = { [weak self] outcome in
            guard let self, case .success = outcome else { return completion(outcome) }
            showIdentities(sharingDeviceWith: account) { completion(outcome) }
        }
        guard devicesBeingStored[place] == nil else {
            devicesBeingStored[place]?.waiting.append(ended)
            return
        }
        storeDevice(account) { [weak self] outcome in
            if case .success = outcome { self?.deviceReplaced(of: account) }
            ended(outcome)
        }
    }

    /// The accounts that are the same install to a platform, this one included (R78).
    package func accountsSharingDevice(with account: Account) -> [Account] {
        let place = devicePlace(of: account)
        return accounts.sorted().filter { devicePlace(of: $0) == place }
    }

    private func devicePlace(of account: Account) -> PlatformStateName {
        sharedDevice(of: account).map { .device($0) } ?? .account(account.name)
    }

    private func storeDevice(
        _ account: Account, _ completion: @escaping (Result<DeviceID, StoreFailure>) -> Void
    ) {
        guard storeState == .open else { return completion(.failure(.sealed)) }
        let device = DeviceID(high: ports.draw(), low: ports.draw())
        let place = devicePlace(of: account)
        devicesBeingStored[place] = DeviceBeingStored(old: self.device(of: account), waiting: [completion])
        let ended: (StoreFailure?) -> Void = { [weak self] failure in
            guard let self else { return }
            let waiting = devicesBeingStored.removeValue(forKey: place)?.waiting ?? []
            for completion in waiting { completion(failure.map { .failure($0) } ?? .success(device)) }
        }
        if let shared = sharedDevice(of: account) {
            let old = memory[.device(shared)]
            let content = Self.write(device)
            memory.put(.device(shared), content) { [weak self] failure in
                // What no disk has seen is shown to nobody: the next attempt makes another.
                if failure != nil { self?.memory.withdraw(.device(shared), content, restoring: old) }
                ended(failure)
            }
        } else {
            let old = account.platform?.ownDevice
            account.platform?.ownDevice = device
            rememberPlatform(of: account) { [unowned self] failure in
                if failure != nil {
                    account.platform?.ownDevice = old
                    // What would be stored later must not have it either.
                    self.rememberPlatform(of: account)
                }
                ended(failure)
            }
        }
    }

    private static func write(_ device: DeviceID) -> SecretBytes {
        PlatformRow(stay: .init(destination: Destination("device")), device: device.text, earlier: []).json()
    }

    private static func readDevice(_ content: SecretBytes) -> DeviceID? {
        PlatformRow(content)?.device.flatMap { DeviceID($0) }
    }
}

/// A device that is on its way to the disk.
struct DeviceBeingStored {
    /// The one before it, which counts until then.
    let old: DeviceID?
    var waiting: [(Result<DeviceID, StoreFailure>) -> Void]
}
