import Glibc

/// A pthread mutex; `Synchronization.Mutex` is unknown to the thread sanitizer and gives false reports.
package final class Lock: @unchecked Sendable {
    // The mutex has one address from `init` to `deinit`, and pthread functions are made to be called from any thread.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// An open lock.
    package init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        // Waiting with a limit must not notice that somebody sets the wall clock.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` while nobody else runs one; not to be nested.
    package func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Within `withLock`: sleeps until `signal`, perhaps longer, perhaps shorter.
    func wait() { pthread_cond_wait(condition, mutex) }

    /// Within `withLock`: like `wait`, but not beyond `deadline` (nanoseconds of CLOCK_MONOTONIC).
    func wait(untilNanoseconds deadline: Int64) {
        var moment = timespec(
            tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        pthread_cond_timedwait(condition, mutex, &moment)
    }

    func signal() { pthread_cond_signal(condition) }
}
