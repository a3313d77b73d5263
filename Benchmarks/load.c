// A closed loop of requests: each connection keeps DEPTH of them under way and sends the next as soon as one is answered.
// Each request is `token.get` for the account "work", exactly 92 bytes long: ids have four digits and come round again.
//
// usage: load SOCKET CONNECTIONS DEPTH SECONDS
// Prints one line of JSON. The first tenth of the time warms up and is not counted.
#define _GNU_SOURCE
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAXIMUM_DEPTH = 256, REQUEST_LENGTH = 92, FIRST_ID = 1000, IDS = 9000, MAXIMUM_SAMPLES = 20000000 };

static const char FORMAT[] =
    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"token.get\",\"params\":{\"account\":\"work\",\"min_valid\":60}}\n";

struct connection {
    int fd;
    uint64_t sent_at[MAXIMUM_DEPTH];  // a ring: replies of one connection are taken in the order of its requests
    unsigned first, next;
};

static uint32_t *samples;
static size_t sample_count;
static unsigned requests;

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) errx(2, "the path is too long");
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof address)) err(1, "%s", path);
    return fd;
}

static void send_requests(struct connection *connection, int number) {
    char text[MAXIMUM_DEPTH * REQUEST_LENGTH + 1];
    uint64_t now = nanoseconds();
    for (int i = 0; i < number; i++) {
        snprintf(text + i * REQUEST_LENGTH, REQUEST_LENGTH + 1, FORMAT, (int)(FIRST_ID + requests++ % IDS));
        connection->sent_at[connection->next++ % MAXIMUM_DEPTH] = now;
    }
    ssize_t length = number * REQUEST_LENGTH;
    if (write(connection->fd, text, length) != length) err(1, "write");
}

static int count_lines(const char *bytes, size_t length) {
    int lines = 0;
    for (const char *end = bytes + length; (bytes = memchr(bytes, '\n', end - bytes)); bytes++) lines++;
    return lines;
}

int main(int count, char **arguments) {
    if (count != 5) errx(2, "usage: load SOCKET CONNECTIONS DEPTH SECONDS");
    int connections = atoi(arguments[2]), depth = atoi(arguments[3]);
    double seconds = atof(arguments[4]);
    if (connections < 1 || depth < 1 || depth > MAXIMUM_DEPTH || seconds <= 0) errx(2, "a number is out of range");
    char probe[REQUEST_LENGTH * 2];  // a format that changed shall not measure something else unseen
    if (snprintf(probe, sizeof probe, FORMAT, FIRST_ID) != REQUEST_LENGTH) errx(1, "a request is not 92 bytes");

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    samples = malloc(MAXIMUM_SAMPLES * sizeof *samples);
    struct connection *all = calloc(connections, sizeof *all);
    if (!samples || !all) err(1, "memory");
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < connections; i++) {
        all[i].fd = connect_to(arguments[1]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event);
    }

    uint64_t start = nanoseconds(), warm = start + seconds * 1e8, end = start + seconds * 1e9, last = warm;
    unsigned answered = 0;
    long counted = 0, bytes = 0;
    for (int i = 0; i < connections; i++) send_requests(&all[i], depth);
    static char buffer[1 << 18];
    struct epoll_event ready[256];
    while (answered < requests) {
        int number = epoll_wait(epoll, ready, 256, 5000);
        if (number <= 0) errx(1, "no answer for five seconds; %u of %u requests answered", answered, requests);
        for (int i = 0; i < number; i++) {
            struct connection *connection = ready[i].data.ptr;
            ssize_t got = read(connection->fd, buffer, sizeof buffer);
            if (got <= 0) err(1, "read");
            uint64_t now = nanoseconds();
            int lines = count_lines(buffer, got);
            bytes += got;
            answered += lines;
            for (int line = 0; line < lines; line++) {
                uint64_t took = now - connection->sent_at[connection->first++ % MAXIMUM_DEPTH];
                if (now <= warm || now > end) continue;
                counted++;
                last = now;
                if (sample_count < MAXIMUM_SAMPLES) samples[sample_count++] = took > UINT32_MAX ? UINT32_MAX : took;
            }
            if (lines && now < end) send_requests(connection, lines);
        }
    }
    if (!sample_count) errx(1, "nothing was answered in the time that counts");
    qsort(samples, sample_count, sizeof *samples, by_size);
    printf("{\"requests\":%u,\"requests_per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"bytes_per_reply\":%.2f}\n",
           answered, counted / ((last - warm) / 1e9), samples[sample_count / 2] / 1e3,
           samples[sample_count * 99 / 100] / 1e3, (double)bytes / answered);
    return 0;
}
