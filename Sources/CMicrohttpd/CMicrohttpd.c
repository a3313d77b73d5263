#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CMicrohttpd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#define BODY_LIMIT (1u << 20)

struct cm_server {
    struct MHD_Daemon *daemon;
    cm_handler handler;
    void *context;
    int stop;
    int tls;
};

struct cm_exchange {
    struct cm_server *server;
    struct MHD_Connection *connection;
    const char *method;
    char *target;
    uint8_t *body;
    size_t kept;
    uint64_t total;
    int started;
    int replied;
};

int cm_stopper(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
void cm_raise(int stopper) { (void)eventfd_write(stopper, 1); }

// The library calls this with the request target before it takes it apart; what it returns comes back as `*state`.
static void *begin(void *context, const char *uri, struct MHD_Connection *connection) {
    struct cm_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->server = context;
    exchange->connection = connection;
    exchange->target = strdup(uri);
    if (!exchange->target) {
        free(exchange);
        return NULL;
    }
    return exchange;
}

static void end(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    struct cm_exchange *exchange = *state;
    if (!exchange) return;
    free(exchange->target);
    free(exchange->body);
    free(exchange);
    *state = NULL;
}

static int keep(struct cm_exchange *exchange, const char *data, size_t size) {
    exchange->total += size;
    size_t room = BODY_LIMIT - exchange->kept;
    if (size > room) size = room;
    if (size == 0) return 0;
    // The library hands over some kilobytes at a time: doubling is not worth the bookkeeping for one mebibyte at most.
    uint8_t *larger = realloc(exchange->body, exchange->kept + size);
    if (!larger) return -1;
    memcpy(larger + exchange->kept, data, size);
    exchange->body = larger;
    exchange->kept += size;
    return 0;
}

static enum MHD_Result access_handler(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *data, size_t *size, void **state) {
    struct cm_server *server = context;
    struct cm_exchange *exchange = *state;
    if (!exchange) return MHD_NO;
    if (!exchange->started) {
        exchange->started = 1;
        exchange->method = method;
        return MHD_YES;
    }
    if (*size > 0) {
        if (keep(exchange, data, *size) != 0) return MHD_NO;
        *size = 0;
        return MHD_YES;
    }
    server->handler(server->context, exchange);
    return exchange->replied ? MHD_YES : MHD_NO;
}

struct cm_server *cm_start(
    uint16_t port, const char *certificate, const char *key, int stop, cm_handler handler, void *context,
    uint16_t *bound) {
    struct cm_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->handler = handler;
    server->context = context;
    server->stop = stop;
    server->tls = certificate != NULL;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL;
    if (server->tls) flags |= MHD_USE_TLS;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    errno = 0;
    // The memory limit holds the request's header fields: bearers of 256 KiB must fit. Each thread that hangs costs its
    // stack, hence a small one; a thousand connections are far above what a test asks for.
    server->daemon = MHD_start_daemon(
        flags, port, NULL, NULL, access_handler, server, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_URI_LOG_CALLBACK, begin, server, MHD_OPTION_NOTIFY_COMPLETED, end, server,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(1u << 20), MHD_OPTION_CONNECTION_LIMIT, (unsigned)1000,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)(1u << 20), MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)512,
        MHD_OPTION_ARRAY, server->tls ? tls : none, MHD_OPTION_END);
    if (!server->daemon) {
        int saved = errno ? errno : EINVAL;
        free(server);
        errno = saved;
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    *bound = info ? info->port : port;
    return server;
}

void cm_stop(struct cm_server *server) {
    MHD_stop_daemon(server->daemon);
    free(server);
}

const char *cm_method(const struct cm_exchange *exchange) { return exchange->method; }
const char *cm_target(const struct cm_exchange *exchange) { return exchange->target; }
int cm_is_tls(const struct cm_exchange *exchange) { return exchange->server->tls; }

struct visit {
    cm_visitor visit;
    void *context;
};
static enum MHD_Result each(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct visit *visit = context;
    visit->visit(visit->context, name, value ? value : "");
    return MHD_YES;
}
void cm_each_header(struct cm_exchange *exchange, cm_visitor visit, void *context) {
    struct visit both = {visit, context};
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, each, &both);
}

const uint8_t *cm_body(const struct cm_exchange *exchange, size_t *count, uint64_t *total) {
    *count = exchange->kept;
    *total = exchange->total;
    return exchange->body;
}

int cm_reply(
    struct cm_exchange *exchange, unsigned status, const char *const *names, const char *const *values, size_t headers,
    const void *body, size_t length) {
    struct MHD_Response *response = MHD_create_response_from_buffer(length, (void *)body, MHD_RESPMEM_MUST_COPY);
    if (!response) return -1;
    enum MHD_Result result = MHD_YES;
    for (size_t index = 0; index < headers && result == MHD_YES; index++)
        result = MHD_add_response_header(response, names[index], values[index]);
    if (result == MHD_YES) result = MHD_queue_response(exchange->connection, status, response);
    MHD_destroy_response(response);
    exchange->replied = result == MHD_YES;
    return exchange->replied ? 0 : -1;
}

static int descriptor(struct cm_exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Waits for `events` on the connection. 1 when they came, 0 when the time is over, -1 when nobody needs the answer.
static int await(struct cm_exchange *exchange, short events, int64_t milliseconds) {
    struct pollfd both[2] = {
        {.fd = descriptor(exchange), .events = (short)(events | POLLRDHUP)},
        {.fd = exchange->server->stop, .events = POLLIN},
    };
    int64_t deadline = now() + milliseconds;
    for (;;) {
        int timeout = -1;
        if (milliseconds >= 0) {
            int64_t rest = deadline - now();
            timeout = rest < 0 ? 0 : rest > 1000000 ? 1000000 : (int)rest;
        }
        int ready = poll(both, 2, timeout);
        if (ready < 0 && errno != EINTR) return -1;
        if (ready > 0) {
            if (both[1].revents || (both[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) return -1;
            if (both[0].revents & events) return 1;
        }
        if (milliseconds >= 0 && now() >= deadline) return 0;
    }
}

int cm_pause(struct cm_exchange *exchange, int64_t milliseconds) { return await(exchange, 0, milliseconds); }

int cm_send(struct cm_exchange *exchange, const void *bytes, size_t length) {
    const union MHD_ConnectionInfo *info = NULL;
    if (exchange->server->tls)
        info = MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const char *next = bytes;
    while (length > 0) {
        ssize_t sent;
        int blocked;
        if (info) {
            sent = gnutls_record_send((gnutls_session_t)info->tls_session, next, length);
            blocked = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
        } else {
            sent = send(descriptor(exchange), next, length, MSG_NOSIGNAL);
            blocked = sent < 0 && (errno == EAGAIN || errno == EINTR);
        }
        if (blocked) {
            if (await(exchange, POLLOUT, -1) < 0) return -1;
            continue;
        }
        if (sent <= 0) return -1;
        next += sent;
        length -= (size_t)sent;
    }
    return 0;
}

// Dissolving the association sends RST at once, whereas SO_LINGER would let the library's own shutdown() send FIN first.
void cm_reset(struct cm_exchange *exchange) {
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    (void)connect(descriptor(exchange), &none, sizeof none);
}
