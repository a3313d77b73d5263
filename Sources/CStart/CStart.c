// The runtime's initialisers look for a program that prints backtraces: eight system calls at every start, and a
// backtrace would print memory that holds tokens. So they see an environment that says "none"; main sees the real one.
#define _GNU_SOURCE
#include "CStart.h"
#include <unistd.h>

static char *const *arguments;
static char **real_environment;
static char *quiet_environment[] = {"SWIFT_BACKTRACE=enable=no,color=no,swift-backtrace=/nonexistent", NULL};

// glibc calls the functions of .preinit_array before every other initialiser, with the arguments of main.
static void before_initialisers(int count, char **argv, char **envp) {
    (void)count;
    arguments = argv;
    real_environment = envp;
    environ = quiet_environment;
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before_initialisers;

// Priorities up to 100 are the implementation's; without one it runs after those that have one.
__attribute__((constructor)) static void after_initialisers(void) {
    if (real_environment) environ = real_environment;
}

char *const *cs_arguments(void) { return arguments; }
char *const *cs_environment(void) { return real_environment; }

// What the standard library calls for the arguments. Its own version finds them by reading /proc/self/maps in an
// initialiser, whether anybody asks or not; this one takes its place when the program is linked.
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
    int length = 0;
    while (arguments && arguments[length]) length++;
    *count = length;
    return (char **)arguments;
}
