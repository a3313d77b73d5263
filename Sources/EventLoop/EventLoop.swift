import CLinux
import CSystemd
import Glibc

/// Why the loop could not do something: an errno, positive.
package struct EventLoopFailure: Error, Equatable, Sendable {
    /// The errno, such as EMFILE.
    package let code: Int32
    /// A failure of that errno.
    package init(code: Int32) { self.code = code }
}

/// What a descriptor can be ready for; the numbers are epoll's.
package enum Readiness {
    /// EPOLLIN: there are bytes to read, or a client to accept.
    package static let readable: UInt32 = 1
    /// EPOLLOUT: there is room for bytes.
    package static let writable: UInt32 = 4
    /// Both directions are closed; reported whether it is watched for or not.
    package static let hangUp: UInt32 = 16
}

/// The one thread on which everything happens that is not a disk or another process.
///
/// Timers, signals, mailboxes and single descriptors are sources of sd-event, which serves one a turn at a cost that grows with
/// their number. The many, clients, are in an epoll set beside it (`descriptors`), and sd-event is one more descriptor of that set: a
/// turn is one wait, one batch of clients and one source, so that neither keeps the other waiting.
///
/// It is not `Sendable`, and neither is anything that it calls: whoever holds it is on its thread, and the compiler refuses to hand
/// it to another one. Other threads reach it through a `Mailbox` only.
package final class EventLoop {
    private let event: OpaquePointer
    /// What is served by the batch.
    package let descriptors: DescriptorSet
    private let arming = Arming()
    // sd-event has been told to look at its timers, and has not been asked since what is ready.
    private var isArmed = false
    private var code: Int32?

    /// A loop of its own for the calling thread; throws when descriptors or memory have run out.
    package init() throws(EventLoopFailure) {
        var event: OpaquePointer?
        let result = sd_event_new(&event)
        guard result >= 0, let event else { throw EventLoopFailure(code: -result) }
        self.event = event
        descriptors = try DescriptorSet(around: sd_event_get_fd(event))
    }

    deinit { sd_event_unref(event) }

    /// Runs until `stop`; returns its code.
    package func run() throws(EventLoopFailure) -> Int32 {
        while true {
            _ = try turn(timeoutMilliseconds: -1)
            if let code { return code }
        }
    }

    /// Lets `run` return `code` once what this turn found ready has been served.
    package func stop(code: Int32 = 0) {
        self.code = code
    }

    /// Waits for something and serves it; for tests, which drive the loop themselves.
    ///
    /// - Returns: whether there was anything within `timeout` milliseconds.
    package func runOnce(timeoutMilliseconds timeout: UInt64) throws(EventLoopFailure) -> Bool {
        try turn(timeoutMilliseconds: Int32(clamping: timeout))
    }

    private func turn(timeoutMilliseconds timeout: Int32) throws(EventLoopFailure) -> Bool {
        let isPending = try arm()
        let found = try descriptors.serve(timeoutMilliseconds: isPending ? 0 : timeout)
        guard isPending || found.source else { return found.others }
        // What sd-event has ready was asked by `arm` already, or is asked now.
        let result = isPending ? 1 : sd_event_wait(event, 0)
        isArmed = false
        guard result >= 0 else { throw EventLoopFailure(code: -result) }
        guard result > 0 else { return found.others }
        let dispatched = sd_event_dispatch(event)
        guard dispatched >= 0 else { throw EventLoopFailure(code: -dispatched) }
        return true
    }

    /// Tells sd-event to look at its timers where one was set since; answers whether a source is to be served already.
    private func arm() throws(EventLoopFailure) -> Bool {
        // Only a wait ends the state in which it does not look.
        if isArmed, arming.isStale {
            let result = sd_event_wait(event, 0)
            guard result >= 0 else { throw EventLoopFailure(code: -result) }
            isArmed = false
            if result > 0 { return true }
        }
        guard !isArmed else { return false }
        arming.isStale = false
        let result = sd_event_prepare(event)
        guard result >= 0 else { throw EventLoopFailure(code: -result) }
        isArmed = result == 0
        return result > 0
    }

    /// Feeds systemd's watchdog from this loop where the unit asks for it.
    package func enableWatchdog() {
        sd_event_set_watchdog(event, 1)
    }

    // MARK: Sources

    /// Calls `handler` while the descriptor is ready for any of `events` (of `Readiness`); the descriptor stays the caller's.
    package func watch(
        _ fd: Int32, events: UInt32, _ handler: @escaping (UInt32) -> Void
    ) throws(EventLoopFailure) -> DescriptorWatch {
        let box = HandlerBox(handler)
        var source: OpaquePointer?
        let result = sd_event_add_io(
            event, &source, fd, events,
            { _, _, ready, context in
                HandlerBox<UInt32>.from(context)?.handler(ready)
                return 0
            }, box.pointer)
        guard result >= 0, let source else { throw EventLoopFailure(code: -result) }
        return DescriptorWatch(source: source, box: box)
    }

    /// A timer that is off until it is set.
    package func makeTimer(_ handler: @escaping () -> Void) throws(EventLoopFailure) -> LoopTimer {
        let box = HandlerBox<Void>(handler)
        var source: OpaquePointer?
        // Accuracy 1 µs: 0 would mean a quarter of a second.
        let result = sd_event_add_time(
            event, &source, CLOCK_BOOTTIME, .max, 1,
            { _, _, context in
                HandlerBox<Void>.from(context)?.handler(())
                return 0
            }, box.pointer)
        guard result >= 0, let source else { throw EventLoopFailure(code: -result) }
        sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
        return LoopTimer(source: source, box: box, arming: arming)
    }

    /// Calls `handler` for a signal, on the loop; the signal is blocked for the whole process.
    ///
    /// Call it before any other thread is started: threads inherit the mask.
    package func watchSignal(_ number: Int32, _ handler: @escaping () -> Void) throws(EventLoopFailure)
        -> LoopSource
    {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        let blocked = pthread_sigmask(SIG_BLOCK, &set, nil)
        guard blocked == 0 else { throw EventLoopFailure(code: blocked) }
        let box = HandlerBox<Void>(handler)
        var source: OpaquePointer?
        let result = sd_event_add_signal(
            event, &source, number,
            { _, _, context in
                HandlerBox<Void>.from(context)?.handler(())
                return 0
            }, box.pointer)
        guard result >= 0, let source else { throw EventLoopFailure(code: -result) }
        return LoopSource(source: source, box: box)
    }

    /// Calls `handler` when somebody sets the wall clock.
    package func watchClockChange(_ handler: @escaping () -> Void) throws(EventLoopFailure) -> DescriptorWatch
    {
        let fd = cl_clock_change_fd()
        guard fd >= 0 else { throw EventLoopFailure(code: errno) }
        let watch = try watch(fd, events: Readiness.readable) { _ in
            // ECANCELED: the clock was set. The value itself says nothing.
            var expirations: UInt64 = 0
            _ = read(fd, &expirations, 8)
            handler()
        }
        watch.ownedDescriptor = fd
        return watch
    }

    /// A mailbox that other threads may send to; `handler` gets each message on the loop, in order.
    package func makeMailbox<Message: Sendable>(
        _ handler: @escaping (Message) -> Void
    ) throws(EventLoopFailure) -> Mailbox<Message> {
        let mailbox = try Mailbox<Message>()
        let fd = mailbox.descriptor
        mailbox.watch = try watch(fd, events: Readiness.readable) { [unowned mailbox] _ in
            for message in mailbox.takeSome() { handler(message) }
        }
        return mailbox
    }
}

/// Whether a timer was set since sd-event looked at them last; the timers of a loop share it, and may outlive the loop.
final class Arming {
    var isStale = false
}

/// Keeps a handler where a C callback can find it.
final class HandlerBox<Argument> {
    let handler: (Argument) -> Void

    init(_ handler: @escaping (Argument) -> Void) { self.handler = handler }

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    // The box lives as long as the source that holds both it and the registration, so the pointer is valid in every callback.
    static func from(_ context: UnsafeMutableRawPointer?) -> HandlerBox? {
        context.map { Unmanaged<HandlerBox>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Something that the loop watches; it ends with this object.
package class LoopSource {
    let source: OpaquePointer
    private let box: AnyObject

    init(source: OpaquePointer, box: AnyObject) {
        self.source = source
        self.box = box
    }

    deinit { sd_event_source_disable_unref(source) }
}

/// A watched descriptor.
package final class DescriptorWatch: LoopSource {
    var ownedDescriptor: Int32 = -1

    /// Changes what the descriptor is watched for; 0 for nothing.
    package func setEvents(_ events: UInt32) {
        sd_event_source_set_io_events(source, events)
    }

    deinit {
        if ownedDescriptor >= 0 { close(ownedDescriptor) }
    }
}

/// A timer on CLOCK_BOOTTIME, so that a suspended machine finds it due when it wakes up.
///
/// It fires once for each setting.
package final class LoopTimer: LoopSource {
    private let arming: Arming

    init(source: OpaquePointer, box: AnyObject, arming: Arming) {
        self.arming = arming
        super.init(source: source, box: box)
    }

    /// Fires at `milliseconds` since boot, at once when that is past.
    package func set(bootMilliseconds milliseconds: Int64) {
        let (microseconds, overflow) = UInt64(clamping: milliseconds).multipliedReportingOverflow(by: 1000)
        sd_event_source_set_time(source, overflow ? .max : microseconds)
        sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
        arming.isStale = true
    }

    /// Does not fire until it is set again.
    package func cancel() {
        sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
    }
}
