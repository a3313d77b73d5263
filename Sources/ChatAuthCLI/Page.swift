import Secrets

/// A file that is generated from the command table when the program is installed.
enum Page: UInt8, CaseIterable {
    case man, bash, zsh, fish

    var name: StaticString {
        switch self {
        case .man: "man"
        case .bash: "bash"
        case .zsh: "zsh"
        case .fish: "fish"
        }
    }

    func text() -> SecretBuffer {
        var text = SecretBuffer(capacity: 16 << 10)
        switch self {
        case .man: ManualPage.append(to: &text)
        case .bash: BashCompletion.append(to: &text)
        case .zsh: ZshCompletion.append(to: &text)
        case .fish: FishCompletion.append(to: &text)
        }
        return text
    }
}
