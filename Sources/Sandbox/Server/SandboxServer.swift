/// Everything behind the sockets: the stand-ins, their faults, the journal, the clock, and who gets which request.
///
/// A request is judged in one step under the lock, journalled in the same step, and only then delivered, without the lock: an
/// answer that hangs holds up nobody, and a test that sees the journal entry knows that the fault is spent.
final class SandboxServer: Sendable {
    struct State: Sendable {
        var standIns = StandInList.fresh()
        var faults: [Owner: FaultQueue] = [:]
        var journal = Journal()
        var violations = Violations()
        /// Seconds by which the sandbox's clock is ahead of the machine's.
        var clockOffset: Int64 = 0
        var isStopping = false
    }

    let state = Monitor(State())
    private let clock: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]

    init(clock: @escaping @Sendable () -> Int64, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.clock = clock
        self.random = random
    }

    /// Unix milliseconds of the sandbox's clock.
    func now(_ state: State) -> Int64 { clock() + state.clockOffset * 1000 }

    /// What `request` gets.
    func delivery(for request: Request) -> Delivery {
        if request.segments.first == "_sandbox" {
            return Delivery(ControlAPI(server: self).answer(request))
        }
        return state.withState { state in
            let now = now(state)
            for index in state.standIns.indices {
                guard let (owner, path) = state.standIns[index].place(of: request.segments) else { continue }
                let route = state.standIns[index].route(path, of: request)
                let fault = state.faults[owner]?.take(route: route)
                let surroundings = surroundings(of: index, state)
                let answer: Answer
                if fault?.fault.isRefusal == true {
                    // On a copy: a server that answers 500 has not done what it was asked for.
                    var copy = state.standIns[index]
                    answer = copy.answer(request, owner.name, route, surroundings)
                } else {
                    answer = state.standIns[index].answer(request, owner.name, route, surroundings)
                }
                state.violations.record(answer.violations, request, owner: owner, route: route)
                let delivery = fault.map { Delivery(answer, spoiledBy: $0) } ?? Delivery(answer)
                state.journal.record(
                    request, owner: owner, time: now, status: delivery.status, fault: fault?.fault.name)
                return delivery
            }
            let answer = Answer.problem(404, "no such route", date: now)
            state.journal.record(request, owner: nil, time: now, status: answer.status, fault: nil)
            return Delivery(answer)
        }
    }

    /// What the stand-in at `index` may use.
    func surroundings(of index: Int, _ state: State) -> Surroundings {
        var others = state.standIns
        // Without itself, so that it stays the only owner of what it changes, and nothing is copied.
        others.remove(at: index)
        return Surroundings(now: now(state), random: random, others: others)
    }

    /// Lets everybody who waits for requests go home.
    func stop() {
        state.withState { $0.isStopping = true }
    }
}
