// libmicrohttpd with a face that Swift can import: one thread a connection, one call a complete request, and a way round
// the library's own answer, because faults need bytes on the wire that no correct server would send.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cm_server;
/// One request and the connection that it came by; valid during the handler's call, in the handler's thread.
struct cm_exchange;

/// Called once a complete request, on the connection's own thread; it may block. Where it returns without having called
/// cm_reply, the connection is closed.
typedef void (*cm_handler)(void *context, struct cm_exchange *exchange);
typedef void (*cm_visitor)(void *context, const char *name, const char *value);

/// A descriptor that becomes readable, and stays so, when cm_raise is called; -1 with errno. The caller closes it.
int cm_stopper(void);
void cm_raise(int stopper);

/// Starts a server on 127.0.0.1. `port` 0 takes any free one; the port taken is written to `bound`. With `certificate` and
/// `key` (PEM text) it speaks TLS, with NULL for both plain HTTP. `stop` is a descriptor that becomes readable when
/// everything that blocks must end. NULL with errno when it cannot start.
struct cm_server *cm_start(
    uint16_t port, const char *certificate, const char *key, int stop, cm_handler handler, void *context,
    uint16_t *bound);
/// Closes every connection and waits for their threads; `stop` must be readable by then.
void cm_stop(struct cm_server *server);

const char *cm_method(const struct cm_exchange *exchange);
/// The request target as it stood in the request line.
const char *cm_target(const struct cm_exchange *exchange);
int cm_is_tls(const struct cm_exchange *exchange);
/// Calls `visit` for each header field in the order of arrival; a missing value is the empty text.
void cm_each_header(struct cm_exchange *exchange, cm_visitor visit, void *context);
/// The first bytes of the body, at most 1 MiB, and how many they are; `total` counts all that arrived.
const uint8_t *cm_body(const struct cm_exchange *exchange, size_t *count, uint64_t *total);

/// Queues the answer. `names` and `values` are `headers` texts each. 0, or -1 when the library refuses one of them.
int cm_reply(
    struct cm_exchange *exchange, unsigned status, const char *const *names, const char *const *values, size_t headers,
    const void *body, size_t length);
/// Writes bytes past the library's own answer. 0 when all are sent, -1 when the peer has gone or the server stops.
int cm_send(struct cm_exchange *exchange, const void *bytes, size_t length);
/// Waits; a negative `milliseconds` waits without end. 0 when the time is over, -1 when the peer has gone or the server
/// stops.
int cm_pause(struct cm_exchange *exchange, int64_t milliseconds);
/// Resets the TCP connection now: the peer gets RST, not FIN.
void cm_reset(struct cm_exchange *exchange);
