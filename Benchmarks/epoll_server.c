// The yardstick of the broker: the least a server can do for the same bytes. One thread, one epoll set, lines in, lines out.
// It parses nothing but the id and answers with bytes that the broker itself once sent, so both move the same data.
//
// usage: epoll_server SOCKET TAIL    TAIL: a file with the reply from behind the id to the newline. Ends by a signal.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BATCH = 256, READ_SIZE = 65536 };

struct buffer {
    char *bytes;
    size_t count, capacity;
};

struct connection {
    int fd;
    int waits_for_room;
    struct buffer in, out;
    size_t sent;
};

static const char HEAD[] = "{\"jsonrpc\":\"2.0\",\"id\":";
static struct buffer tail;

static char *reserve(struct buffer *buffer, size_t more) {
    if (buffer->capacity - buffer->count < more) {
        buffer->capacity = buffer->capacity * 2 + more;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes) err(1, "realloc");
    }
    return buffer->bytes + buffer->count;
}

static void append(struct buffer *buffer, const char *bytes, size_t count) {
    memcpy(reserve(buffer, count), bytes, count);
    buffer->count += count;
}

static void answer(struct connection *connection, const char *line, size_t length) {
    const char *key = memmem(line, length, "\"id\":", 5);
    size_t digits = key ? strspn(key + 5, "0123456789") : 0;
    append(&connection->out, HEAD, sizeof HEAD - 1);
    append(&connection->out, key ? key + 5 : "", digits);
    append(&connection->out, tail.bytes, tail.count);
}

static void answer_lines(struct connection *connection) {
    struct buffer *in = &connection->in;
    size_t start = 0;
    for (char *end; (end = memchr(in->bytes + start, '\n', in->count - start)); start = end - in->bytes + 1)
        answer(connection, in->bytes + start, end - (in->bytes + start));
    memmove(in->bytes, in->bytes + start, in->count - start);
    in->count -= start;
}

/// 0 once the connection has ended.
static int flush_replies(int epoll, struct connection *connection) {
    struct buffer *out = &connection->out;
    if (out->count > connection->sent) {
        ssize_t sent =
            send(connection->fd, out->bytes + connection->sent, out->count - connection->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return 0;
        if (sent > 0) connection->sent += sent;
    }
    int waits = connection->sent < out->count;
    if (!waits) connection->sent = out->count = 0;
    if (waits != connection->waits_for_room) {
        connection->waits_for_room = waits;
        struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = connection};
        epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
    }
    return 1;
}

static int serve(int epoll, struct connection *connection, unsigned events) {
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        ssize_t got = read(connection->fd, reserve(&connection->in, READ_SIZE), READ_SIZE);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return 0;
        if (got > 0) connection->in.count += got;
        answer_lines(connection);
    }
    return flush_replies(epoll, connection);
}

static void close_connection(struct connection *connection) {
    close(connection->fd);
    free(connection->in.bytes);
    free(connection->out.bytes);
    free(connection);
}

static void accept_all(int epoll, int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection) err(1, "calloc");
        connection->fd = fd;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) errx(2, "the path is too long");
    strcpy(address.sun_path, path);
    unlink(path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (void *)&address, sizeof address) || listen(listener, 4096)) err(1, "%s", path);
    return listener;
}

int main(int count, char **arguments) {
    if (count != 3) errx(2, "usage: epoll_server SOCKET TAIL");
    FILE *file = fopen(arguments[2], "r");
    if (!file) err(1, "%s", arguments[2]);
    tail.count = fread(reserve(&tail, 1 << 20), 1, 1 << 20, file);
    fclose(file);

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    int listener = listen_at(arguments[1]);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, ready[BATCH];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int number = epoll_wait(epoll, ready, BATCH, -1);
        for (int i = 0; i < number; i++) {
            struct connection *connection = ready[i].data.ptr;
            if (!connection) accept_all(epoll, listener);
            else if (!serve(epoll, connection, ready[i].events)) close_connection(connection);
        }
    }
}
