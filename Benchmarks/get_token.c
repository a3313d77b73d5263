// The yardstick of `chatauth get-token`: the least program that asks for a token and prints it.
//
// usage: get_token SOCKET ACCOUNT
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char KEY[] = "\"bearer_token\":\"";

int main(int count, char **arguments) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 3 || strlen(arguments[1]) >= sizeof address.sun_path) return 2;
    strcpy(address.sun_path, arguments[1]);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (void *)&address, sizeof address)) return 3;

    static char bytes[1 << 20];
    int length = snprintf(bytes, sizeof bytes,
                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"token.get\",\"params\":{\"account\":\"%s\"}}\n",
                          arguments[2]);
    if (write(fd, bytes, length) != length) return 3;

    size_t got = 0;
    do {
        ssize_t more = read(fd, bytes + got, sizeof bytes - got);
        if (more <= 0) return 3;
        got += more;
    } while (bytes[got - 1] != '\n');

    char *token = memmem(bytes, got, KEY, sizeof KEY - 1);
    if (!token) return 1;
    token += sizeof KEY - 1;
    char *end = memchr(token, '"', bytes + got - token);
    if (!end) return 1;
    *end = '\n';
    return write(1, token, end - token + 1) == end - token + 1 ? 0 : 1;
}
