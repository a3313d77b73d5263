/// Something of several steps that is under way and can be given up at any of them.
///
/// Each step says how it is given up; once the attempt is over, what still comes of a step finds `isOver` and does nothing.
final class Attempt {
    /// It came to an end, or was given up.
    private(set) var isOver = false
    private var giveUp: () -> Void = {}

    /// The next step is under way.
    func proceed(_ giveUp: @escaping () -> Void) {
        if !isOver { self.giveUp = giveUp }
    }

    /// It came to an end by itself.
    func end() {
        isOver = true
        giveUp = {}
    }

    /// Gives up the step that is under way; nothing is told to whoever waits.
    func cancel() {
        guard !isOver else { return }
        let giveUp = giveUp
        end()
        giveUp()
    }
}
