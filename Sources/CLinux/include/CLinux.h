// What Swift cannot import from Linux and glibc: variadic calls, unions, function-like macros, _GNU_SOURCE types.
// Each function returns what the call returns, errno untouched; nothing here keeps state.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// prctl(PR_SET_DUMPABLE, 0): no core dump, no ptrace, no /proc/PID/mem for the same user.
int cl_forbid_dumps(void);
/// 1 while the process is dumpable, 0 when it is not, -1 with errno.
int cl_is_dumpable(void);

/// The peer of a connected Unix socket as the kernel recorded it at connect(). 0, or -1 with errno.
int cl_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid);
/// Supplementary groups of the peer at connect(). Returns the count, or -1 with errno (ERANGE: more than `capacity`).
int cl_peer_groups(int fd, gid_t *groups, size_t capacity);

/// A descriptor of the process that connected (SO_PEERPIDFD, Linux 6.5). -1 with errno: ENOPROTOOPT where the kernel has it not.
int cl_peer_pidfd(int fd);
/// Whether a descriptor is readable now: 1 or 0; 1 where that cannot be found out.
int cl_is_readable(int fd);

/// A listening socket with `backlog` at `path`, mode 0600 from the first moment on (fchmod before bind). -1 with errno.
int cl_listen_unix(const char *path, size_t length, mode_t mode, int backlog);
/// A connected, blocking stream socket. -1 with errno.
int cl_connect_unix(const char *path, size_t length);
// The same without waiting: EAGAIN when the backlog is full.
int cl_try_connect_unix(const char *path, size_t length);
/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC.
int cl_accept(int listener);

/// epoll_ctl: watch `fd` for `events`, with `token` to tell it by; change that; watch it no more. 0, or -1 with errno.
int cl_epoll_add(int epoll, int fd, uint32_t events, uint64_t token);
int cl_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token);
int cl_epoll_remove(int epoll, int fd);
/// A ready event: its bits and the token that was registered with it.
struct cl_ready {
    uint32_t events;
    uint64_t token;
};
/// epoll_wait into `ready`, at most 256 events and `capacity`. The count, or -1 with errno.
int cl_epoll_wait(int epoll, struct cl_ready *ready, int capacity, int timeout_milliseconds);
/// epoll_create1 and eventfd with EFD_NONBLOCK, both close-on-exec. -1 with errno.
int cl_epoll_create(void);
int cl_event_fd(void);
/// Blocks these signals for the calling thread; a signalfd, close-on-exec, that tells of them instead. -1 with errno.
int cl_signals_fd(const int *signals, size_t count);
/// pthread_join with a limit. 0, or an errno (ETIMEDOUT: it goes on, and may be joined again).
int cl_join_within(unsigned long thread, int milliseconds);
/// Names the calling thread; at most 15 bytes.
void cl_name_thread(const char *name);

/// A timerfd on CLOCK_REALTIME that becomes readable only when the wall clock is set. -1 with errno.
int cl_clock_change_fd(void);
/// Milliseconds of CLOCK_REALTIME and CLOCK_BOOTTIME.
int64_t cl_wall_milliseconds(void);
int64_t cl_boot_milliseconds(void);
/// Nanoseconds of CLOCK_MONOTONIC.
int64_t cl_monotonic_nanoseconds(void);

/// open() with a mode: variadic in C.
int cl_open(const char *path, int flags, mode_t mode);
/// openat2-free: openat() with a mode.
int cl_openat(int directory, const char *path, int flags, mode_t mode);
/// fcntl(F_SETFL) adding O_NONBLOCK; fcntl(F_SETFD) setting or clearing FD_CLOEXEC.
int cl_set_nonblocking(int fd);
int cl_set_close_on_exec(int fd, int enabled);
/// getrandom() until `count` bytes are there. 0, or -1 with errno.
int cl_random(void *bytes, size_t count);
/// Reserves space on the disk and makes the file so long; 0, or -1 with errno: EOPNOTSUPP where the file system reserves none.
/// Never EINTR. Not posix_fallocate, which then writes zeros that a file system may not keep room for.
int cl_reserve(int fd, off_t start, off_t count);
/// Starts `path` with `arguments` and `environment`, with `channel` as descriptor 3, /dev/null as 0, 1 and 2, every
/// other descriptor closed, signals at their defaults. The child's pid, or -1 with errno.
pid_t cl_spawn_with_channel(const char *path, char *const arguments[], char *const environment[], int channel);
/// RLIMIT_CORE 0. What a core_pattern pipe would still get, `cl_forbid_dumps` withholds.
void cl_forbid_cores(void);
/// Raises the soft limit of descriptors to the hard one, at most a million; returns what holds then.
int64_t cl_raise_descriptor_limit(void);
/// 1 where pages may be locked without a bound.
int cl_may_lock_memory(void);
/// mlockall of present and future pages, counted as they are touched. 0, or -1 with errno.
int cl_lock_memory(void);
/// Gives back what only the start needed: free heap, and the code pages of this program and its libraries, which come back from the
/// page cache when they are used again. Nothing is lost: code is never written to.
void cl_forget_start(void);
/// pidfd_open(pid, 0), close-on-exec. -1 with errno (ENOSYS before Linux 5.3).
int cl_pidfd_open(pid_t pid);
/// Reserves space for the first `length` bytes of a file without changing its size (fallocate, FALLOC_FL_KEEP_SIZE). 0, or -1
/// with errno.
int cl_reserve_file(int fd, int64_t length);
/// A connected, blocking stream socket; connecting and each write to it fail with EAGAIN after `milliseconds`. -1 with errno.
int cl_connect_unix_within(const char *path, size_t length, int milliseconds);
/// The lowest free descriptor that is not 0, 1 or 2 for what `fd` refers to, which is closed; `fd` itself if it is none of
/// them. Close-on-exec. -1 with errno.
int cl_above_standard(int fd);
/// An empty file in memory without a name in any directory, sealable, close-on-exec. -1 with errno.
int cl_memory_file(const char *name);
/// Seals a memory file: nobody can write, grow, shrink or unseal it. 0, or -1 with errno.
int cl_seal_memory_file(int fd);
/// execvpe(): replaces the process, searching PATH. Returns only with errno.
int cl_execute(const char *file, char *const arguments[], char *const environment[]);
/// Sends one datagram to the Unix socket at `path` (a leading `@` means the abstract namespace). 0, or -1 with errno.
int cl_send_datagram(const char *path, size_t path_length, const char *bytes, size_t length);
