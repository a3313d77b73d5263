import CredentialCore
import Providers
import Secrets

/// What is asked of Kindly about one chat: one request at a time, and whom the platform may have bound there.
///
/// Difficulty: a request that has left cannot be called back; the platform may carry it out long after whoever wanted it has gone, and
/// behind one that came later. So none is broken off: it comes back to nobody, what it did is remembered, and the next one waits for it, the
/// unbind of a sign-out above all. Invariants: a request begins only when the one before it has come back, and each one does: at the
/// latest a second after its time-out, counted from when it left; one that nobody wants any more before its turn comes is not kept.
final class ChatLane {
    /// A credential that was shown to the platform for the chat.
    struct Shown {
        let binding: BindingToEnd
        /// The platform said that it took it; else it may have.
        let isCertain: Bool
    }

    /// A sign-out that is told to the platform, and how that went.
    final class Unbinding {
        var failure: RefreshFailure?
    }

    /// Which chat.
    let chatID: String
    /// What the platform may have bound to it, the newest last.
    private(set) var shown: [Shown] = []
    /// Whether a bind is out.
    private(set) var isBinding = false
    /// The sign-out that was asked for last, while the platform has not been told.
    private(set) var unbinding: Unbinding?
    private var waiting: [Entry] = []
    private var isTaken = false
    private var isGoingOn = false
    private struct Entry {
        /// Nil: whatever happens, it is for others that it is done.
        let attempt: Attempt?
        let request: (@escaping () -> Void) -> Void
    }

    // What is out was shown before everything was to be forgotten.
    private var isForgetting = false

    // More can be uncertain only where a platform never answers; the newest are the likeliest.
    private static let shownLimit = 4

    init(chatID: String) { self.chatID = chatID }

    /// Whether the platform may have somebody bound to the chat, or is being told that nobody is any more.
    var mayHaveSomebody: Bool { isBinding || !shown.isEmpty || unbinding != nil }

    // MARK: Turns

    /// Has `request` begin when it is its turn, which may be now, unless the attempt that it is part of is over by then; it calls what
    /// it is given when it has come back.
    func enter(
        _ attempt: Attempt? = nil, _ request: @escaping (@escaping () -> Void) -> Void
    ) {
        // Whoever gives requests up as fast as it makes them piles up nothing.
        waiting.removeAll { $0.attempt?.isOver ?? false }
        waiting.append(Entry(attempt: attempt, request: request))
        goOn()
    }

    // A loop: a request that comes back at once must not begin the next one upon the stack of the last.
    private func goOn() {
        guard !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while !isTaken, !waiting.isEmpty {
            let entry = waiting.removeFirst()
            if entry.attempt?.isOver ?? false { continue }
            isTaken = true
            entry.request { [self] in
                isTaken = false
                goOn()
            }
        }
    }

    // MARK: What the platform has

    /// A bind begins.
    func bindBegan() {
        isBinding = true
        isForgetting = false
    }

    /// A bind came back.
    func bindEnded(_ binding: BindingToEnd, _ outcome: Result<BindAnswer, RefreshFailure>) {
        isBinding = false
        guard !isForgetting else { return }
        shown.removeAll { $0.binding.isOf(binding.credential) }
        switch outcome {
        case .success: shown = [Shown(binding: binding, isCertain: true)]
        case .failure(let failure):
            guard failure.mayBeDone else { return }
            shown.append(Shown(binding: binding, isCertain: false))
            if shown.count > Self.shownLimit { shown.removeFirst() }
        }
    }

    /// Whether somebody else than the one with that credential may be bound.
    func mayHaveAnother(than credential: Credential) -> Bool {
        guard !isBinding, let last = shown.last else { return false }
        return !last.binding.isOf(credential)
    }

    /// Whether somebody else may be bound than the one with that credential, now or by what is out.
    func mayHaveAnother(beside credential: Credential?) -> Bool {
        guard let credential else { return mayHaveSomebody }
        return isBinding || shown.contains { !$0.binding.isOf(credential) }
    }

    /// Forgets every credential; nobody is told.
    func forget() {
        shown = []
        isForgetting = isBinding
    }

    // MARK: Signing out

    /// A sign-out waits for its turn; returns the one before it, whose outcome is its own where it finds nothing to tell.
    func unbindingBegan(_ unbinding: Unbinding) -> Unbinding? {
        defer { self.unbinding = unbinding }
        return self.unbinding
    }

    func unbindingEnded(_ unbinding: Unbinding) {
        if self.unbinding === unbinding { self.unbinding = nil }
    }

    /// Takes out what may be bound, the likeliest first: the newest, and what came before it as long as that is not certain; at last
    /// `held`, which was bound before anything was shown here.
    func takeShown(behind held: BindingToEnd?) -> [BindingToEnd] {
        defer { shown = [] }
        var bindings: [BindingToEnd] = []
        for one in shown.reversed() {
            bindings.append(one.binding)
            if one.isCertain { return bindings }
        }
        if let held, !bindings.contains(where: { $0.isOf(held.credential) }) { bindings.append(held) }
        return bindings
    }
}

/// A credential that the platform is to forget, and where.
struct BindingToEnd {
    let bot: KindlyDefinition
    let chat: KindlyChat
    let credential: Credential

    /// Whether it is of that very credential.
    func isOf(_ credential: Credential) -> Bool { self.credential.bearer === credential.bearer }
}
