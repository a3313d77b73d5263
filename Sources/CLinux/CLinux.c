#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int cl_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
int cl_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

int cl_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

int cl_peer_groups(int fd, gid_t *groups, size_t capacity) {
    socklen_t size = (socklen_t)(capacity * sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) return -1;
    return (int)(size / sizeof(gid_t));
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int cl_peer_pidfd(int fd) {
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) != 0) return -1;
    return pidfd;
}

int cl_is_readable(int fd) {
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    int count;
    do count = poll(&poller, 1, 0);
    while (count < 0 && errno == EINTR);
    return count != 0;
}

static int unix_address(struct sockaddr_un *address, const char *path, size_t length) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path || memchr(path, 0, length)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address->sun_path, path, length);
    return 0;
}

int cl_listen_unix(const char *path, size_t length, mode_t mode, int backlog) {
    struct sockaddr_un address;
    if (unix_address(&address, path, length) != 0) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    // Before bind, so that it is never wider than asked for; after it, since bind takes the umask away from what was asked for.
    if (fchmod(fd, mode) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || chmod(path, mode) != 0 ||
        listen(fd, backlog) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static int connect_unix(const char *path, size_t length, int flags) {
    struct sockaddr_un address;
    if (unix_address(&address, path, length) != 0) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int cl_connect_unix(const char *path, size_t length) { return connect_unix(path, length, 0); }
int cl_try_connect_unix(const char *path, size_t length) { return connect_unix(path, length, SOCK_NONBLOCK); }

int cl_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int cl_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}
int cl_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}
int cl_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); }

int cl_epoll_wait(int epoll, struct cl_ready *ready, int capacity, int timeout_milliseconds) {
    struct epoll_event events[256];
    int count = epoll_wait(epoll, events, capacity < 256 ? capacity : 256, timeout_milliseconds);
    for (int i = 0; i < count; i++) ready[i] = (struct cl_ready){.events = events[i].events, .token = events[i].data.u64};
    return count;
}

int cl_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
int cl_event_fd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
int cl_signals_fd(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC);
}
int cl_join_within(unsigned long thread, int milliseconds) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += milliseconds / 1000;
    limit.tv_nsec += (milliseconds % 1000) * 1000000L;
    if (limit.tv_nsec >= 1000000000L) {
        limit.tv_sec++;
        limit.tv_nsec -= 1000000000L;
    }
    return pthread_clockjoin_np((pthread_t)thread, NULL, CLOCK_MONOTONIC, &limit);
}

void cl_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int cl_clock_change_fd(void) {
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0) return -1;
    // The year 2554: never reached, so only a set clock (ECANCELED on read) wakes it.
    struct itimerspec never = {.it_value = {.tv_sec = (time_t)18446744073}};
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static int64_t milliseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
int64_t cl_wall_milliseconds(void) { return milliseconds(CLOCK_REALTIME); }
int64_t cl_boot_milliseconds(void) { return milliseconds(CLOCK_BOOTTIME); }
int64_t cl_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int cl_open(const char *path, int flags, mode_t mode) { return open(path, flags | O_CLOEXEC, mode); }
int cl_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

int cl_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}
int cl_set_close_on_exec(int fd, int enabled) { return fcntl(fd, F_SETFD, enabled ? FD_CLOEXEC : 0); }

int cl_reserve(int fd, off_t start, off_t count) {
    int result;
    do result = fallocate(fd, 0, start, count);
    while (result < 0 && errno == EINTR);
    return result;
}

int cl_random(void *bytes, size_t count) {
    unsigned char *next = bytes;
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

pid_t cl_spawn_with_channel(const char *path, char *const arguments[], char *const environment[], int channel) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t child = -1;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) error = posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    if (error == 0) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    // What a broken child prints would fill the log of its parent, byte for byte.
    if (error == 0) error = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, channel, 3);
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0) error = posix_spawn(&child, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return child;
}

void cl_forbid_cores(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

int64_t cl_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    struct rlimit raised = {limit.rlim_max < 1 << 20 ? limit.rlim_max : 1 << 20, limit.rlim_max};
    return (int64_t)(setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

int cl_may_lock_memory(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

int cl_lock_memory(void) { return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT); }
void cl_forget_start(void) {
    malloc_trim(0);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return;
    char line[512];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char permissions[5];
        // Private, executable and of a file: such a mapping has no page of its own that could be lost.
        if (sscanf(line, "%lx-%lx %4s", &start, &end, permissions) == 3 && strcmp(permissions, "r-xp") == 0 && strchr(line, '/'))
            madvise((void *)start, end - start, MADV_DONTNEED);
    }
    fclose(maps);
}
int cl_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int cl_reserve_file(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

int cl_connect_unix_within(const char *path, size_t length, int milliseconds) {
    struct sockaddr_un address;
    if (unix_address(&address, path, length) != 0) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct timeval patience = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int cl_above_standard(int fd) {
    if (fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int saved = errno;
    close(fd);
    errno = saved;
    return higher;
}

int cl_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }
int cl_seal_memory_file(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int cl_execute(const char *file, char *const arguments[], char *const environment[]) {
    return execvpe(file, arguments, environment);
}

int cl_send_datagram(const char *path, size_t path_length, const char *bytes, size_t length) {
    struct sockaddr_un address;
    if (unix_address(&address, path, path_length) != 0) return -1;
    // An abstract name has no end but the length of the address.
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_length);
    if (address.sun_path[0] == '@') address.sun_path[0] = 0;
    else size = sizeof address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    ssize_t sent = sendto(fd, bytes, length, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int saved = errno;
    close(fd);
    errno = saved;
    return sent == (ssize_t)length ? 0 : -1;
}
