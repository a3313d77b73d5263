import CLinux
import EventLoop
import Glibc
import Testing

/// Descriptors with something to read, which nobody reads.
private final class Crowd: DescriptorHandler {
    private(set) var served: [Int]
    private(set) var batches = 0
    var removesAll = false
    var whenServed: () -> Void = {}
    private let loop: EventLoop
    private var ends: [Int32] = []

    init(_ count: Int, in loop: EventLoop) throws {
        self.loop = loop
        served = Array(repeating: 0, count: count)
        for number in 1...count {
            var pair: [Int32] = [0, 0]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            var byte: UInt8 = 7
            #expect(write(pair[1], &byte, 1) == 1)
            ends += pair
            #expect(loop.descriptors.add(pair[0], Readiness.readable, token: UInt64(number)))
        }
        loop.descriptors.handler = self
    }

    deinit {
        for end in ends { close(end) }
    }

    func descriptorIsReady(_ token: UInt64, _ events: UInt32) {
        served[Int(token) - 1] += 1
        whenServed()
        if removesAll {
            for end in stride(from: 0, to: ends.count, by: 2) { loop.descriptors.remove(ends[end]) }
        }
    }

    func batchDidEnd() { batches += 1 }
}

@Suite struct `The event loop` {
    /// Lets the loop run until `isDone`, at most five seconds.
    private func run(_ loop: EventLoop, until isDone: () -> Bool) throws {
        let end = cl_boot_milliseconds() + 5000
        while !isDone(), cl_boot_milliseconds() < end { _ = try loop.runOnce(timeoutMilliseconds: 100) }
    }

    @Test func `a timer fires once, at its time`() throws {
        let loop = try EventLoop()
        var fired: [Int64] = []
        let timer = try loop.makeTimer { fired.append(cl_boot_milliseconds()) }
        #expect(try !loop.runOnce(timeoutMilliseconds: 0))
        let due = cl_boot_milliseconds() + 20
        timer.set(bootMilliseconds: due)
        try run(loop) { !fired.isEmpty }
        #expect(fired.count == 1)
        #expect(fired.allSatisfy { $0 >= due })
        #expect(try !loop.runOnce(timeoutMilliseconds: 30))
        timer.set(bootMilliseconds: 0)
        try withExtendedLifetime(timer) { try run(loop) { fired.count == 2 } }
        #expect(fired.count == 2)
    }

    @Test func `timers fire in the order of their moments, and a cancelled one never`() throws {
        let loop = try EventLoop()
        var fired: [Int] = []
        let now = cl_boot_milliseconds()
        let timers = try [30, 10, 20].map { delay in
            let timer = try loop.makeTimer { fired.append(delay) }
            timer.set(bootMilliseconds: now + Int64(delay))
            return timer
        }
        timers[2].cancel()
        let last = try loop.makeTimer { fired.append(99) }
        last.set(bootMilliseconds: now + 60)
        // A timer that nobody holds is none: an optimised build lets go of it after its last use.
        try withExtendedLifetime((timers, last)) { try run(loop) { fired.last == 99 } }
        #expect(fired == [10, 30, 99])
    }

    @Test(arguments: [Int64.max, .min, -1])
    func `no moment is too far away`(moment: Int64) throws {
        let loop = try EventLoop()
        var fired = 0
        let timer = try loop.makeTimer { fired += 1 }
        timer.set(bootMilliseconds: moment)
        try withExtendedLifetime(timer) {
            _ = try loop.runOnce(timeoutMilliseconds: 0)
            _ = try loop.runOnce(timeoutMilliseconds: 0)
        }
        #expect(fired == (moment < 0 ? 1 : 0))
    }

    @Test func `messages of other threads come in order, each once`() throws {
        let loop = try EventLoop()
        var received: [[Int]] = [[], []]
        let mailbox: Mailbox<(Int, Int)> = try loop.makeMailbox { received[$0.0].append($0.1) }
        let threads = try (0..<2).map { sender in
            try WorkerThread(name: "sender") {
                for number in 0..<5000 { mailbox.send((sender, number)) }
            }
        }
        try withExtendedLifetime(mailbox) {
            try run(loop) { received[0].count + received[1].count == 10_000 }
        }
        for thread in threads { thread.join() }
        #expect(received == [Array(0..<5000), Array(0..<5000)])
    }

    @Test func `a message from within a handler comes in a later turn`() throws {
        let loop = try EventLoop()
        final class Box { var mailbox: Mailbox<Int>? }
        let box = Box()
        var received: [Int] = []
        box.mailbox = try loop.makeMailbox { number in
            received.append(number)
            if number < 3 { box.mailbox?.send(number + 1) }
        }
        box.mailbox?.send(1)
        try run(loop) { received.count == 3 }
        #expect(received == [1, 2, 3])
        box.mailbox = nil
    }

    @Test func `a signal is an event, and no other thread gets it`() throws {
        let loop = try EventLoop()
        var count = 0
        let source = try loop.watchSignal(SIGUSR2) { count += 1 }
        pthread_kill(pthread_self(), SIGUSR2)
        try run(loop) { count == 1 }
        #expect(count == 1)
        withExtendedLifetime(source) {}
    }

    @Test func `a watched descriptor reports until it is read, and not after the watch has ended`() throws {
        let loop = try EventLoop()
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        var seen = 0
        var watch: DescriptorWatch? = try loop.watch(ends[0], events: Readiness.readable) { ready in
            #expect(ready & Readiness.readable != 0)
            seen += 1
        }
        var byte: UInt8 = 7
        #expect(write(ends[1], &byte, 1) == 1)
        _ = try loop.runOnce(timeoutMilliseconds: 100)
        _ = try loop.runOnce(timeoutMilliseconds: 100)
        #expect(seen == 2)
        watch?.setEvents(0)
        #expect(try !loop.runOnce(timeoutMilliseconds: 0))
        watch?.setEvents(Readiness.readable)
        _ = try loop.runOnce(timeoutMilliseconds: 100)
        #expect(seen == 3)
        watch = nil
        #expect(try !loop.runOnce(timeoutMilliseconds: 0))
    }

    @Test func `a watch may end itself from within its handler`() throws {
        let loop = try EventLoop()
        final class Box { var timer: LoopTimer? }
        let box = Box()
        var fired = 0
        box.timer = try loop.makeTimer {
            fired += 1
            box.timer = nil
        }
        box.timer?.set(bootMilliseconds: 0)
        _ = try loop.runOnce(timeoutMilliseconds: 100)
        #expect(fired == 1)
        #expect(try !loop.runOnce(timeoutMilliseconds: 0))
    }

    @Test func `descriptors that are always ready leave timers and messages their turns`() throws {
        let loop = try EventLoop()
        let crowd = try Crowd(3, in: loop)
        var fired = 0
        let timer = try loop.makeTimer { fired += 1 }
        var received: [Int] = []
        let mailbox: Mailbox<Int> = try loop.makeMailbox { received.append($0) }
        for number in 0..<1000 { mailbox.send(number) }
        timer.set(bootMilliseconds: 0)
        var turns = 0
        while received.count < 1000 || fired == 0, turns < 100 {
            let before = received.count
            _ = try loop.runOnce(timeoutMilliseconds: 0)
            turns += 1
            #expect(received.count - before <= Mailbox<Int>.handedPerTurn)
        }
        withExtendedLifetime((timer, mailbox)) {}
        #expect(received == Array(0..<1000))
        #expect(fired == 1)
        // Every one of them was served in every turn.
        #expect(crowd.served == Array(repeating: turns, count: 3))
        #expect(crowd.batches == turns)
    }

    @Test func `a descriptor that is removed from within its batch is not served after`() throws {
        let loop = try EventLoop()
        let crowd = try Crowd(2, in: loop)
        crowd.removesAll = true
        for _ in 0..<3 { _ = try loop.runOnce(timeoutMilliseconds: 0) }
        #expect(crowd.batches == 1)
        #expect(try !loop.runOnce(timeoutMilliseconds: 0))
    }

    @Test func `a timer that is set by a descriptor's handler fires`() throws {
        let loop = try EventLoop()
        let crowd = try Crowd(1, in: loop)
        var fired = 0
        let timer = try loop.makeTimer { fired += 1 }
        _ = try loop.runOnce(timeoutMilliseconds: 0)
        crowd.whenServed = { timer.set(bootMilliseconds: 0) }
        crowd.removesAll = true
        try run(loop) { fired == 1 }
        #expect(fired == 1)
    }

    @Test func `stopping ends the run with a code`() throws {
        let loop = try EventLoop()
        let timer = try loop.makeTimer { loop.stop(code: 7) }
        timer.set(bootMilliseconds: 0)
        #expect(try loop.run() == 7)
    }
}

@Suite struct `The inbox of a thread` {
    @Test func `a full or closed inbox refuses and what is in it is still taken`() {
        let inbox = Inbox<Int>(capacity: 2)
        #expect(inbox.send(1) && inbox.send(2) && !inbox.send(3))
        #expect(inbox.takeAll() == [1, 2])
        #expect(inbox.send(4))
        inbox.close()
        #expect(!inbox.send(5))
        #expect(inbox.takeAll() == [4])
        #expect(inbox.takeAll() == nil)
        #expect(inbox.takeAll(timeoutMilliseconds: 1000) == nil)
    }

    @Test func `waiting with a limit ends with nothing`() {
        #expect(Inbox<Int>().takeAll(timeoutMilliseconds: 5) == [])
        #expect(Inbox<Int>().takeAll(timeoutMilliseconds: -1) == [])
    }

    @Test func `a thread gets everything in order and ends when the inbox is closed`() throws {
        let inbox = Inbox<Int>()
        let result = Inbox<[Int]>()
        let thread = try WorkerThread(name: "taker") {
            var all: [Int] = []
            while let messages = inbox.takeAll() { all += messages }
            result.send(all)
        }
        for number in 0..<10_000 { inbox.send(number) }
        inbox.close()
        thread.join()
        #expect(result.takeAll() == [Array(0..<10_000)])
    }
}
