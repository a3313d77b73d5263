// Compares the whole life of two programs, from spawn to exit, in turns, so that what else the machine does hits both.
//
// usage: spawn_bench ROUNDS FIRST [ARGUMENT…] -- SECOND [ARGUMENT…]
// Prints one line of JSON: the median of each, and the median of the ratios SECOND / FIRST of each round.
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { WARM_UP = 10 };
extern char **environ;

struct run {
    double wall_us, cpu_us, resident_kb;
};

static double microseconds(struct timeval time) { return time.tv_sec * 1e6 + time.tv_usec; }

static struct run run(char **command, posix_spawn_file_actions_t *quiet) {
    struct timespec before, after;
    struct rusage usage;
    pid_t child;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (posix_spawn(&child, command[0], quiet, NULL, command, environ)) err(1, "%s", command[0]);
    if (wait4(child, &status, 0, &usage) != child) err(1, "wait4");
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (status) errx(1, "%s ended with status %d", command[0], status);
    return (struct run){
        .wall_us = (after.tv_sec - before.tv_sec) * 1e6 + (after.tv_nsec - before.tv_nsec) / 1e3,
        .cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
        .resident_kb = usage.ru_maxrss,
    };
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, int count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

int main(int count, char **arguments) {
    int rounds = count > 3 ? atoi(arguments[1]) : 0, split = 2;
    while (split < count && strcmp(arguments[split], "--")) split++;
    if (rounds < 1 || split == 2 || split + 1 >= count)
        errx(2, "usage: spawn_bench ROUNDS FIRST [ARGUMENT...] -- SECOND [ARGUMENT...]");
    arguments[split] = NULL;
    char **first = arguments + 2, **second = arguments + split + 1;

    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);

    double *columns[6];
    for (int i = 0; i < 6; i++)
        if (!(columns[i] = calloc(rounds, sizeof(double)))) err(1, "calloc");
    double resident[2] = {0, 0};
    for (int round = -WARM_UP; round < rounds; round++) {
        struct run one = run(first, &quiet), two = run(second, &quiet);
        if (round < 0) continue;
        columns[0][round] = one.wall_us;
        columns[1][round] = two.wall_us;
        columns[2][round] = two.wall_us / one.wall_us;
        columns[3][round] = one.cpu_us;
        columns[4][round] = two.cpu_us;
        columns[5][round] = one.cpu_us > 0 ? two.cpu_us / one.cpu_us : 1;
        if (one.resident_kb > resident[0]) resident[0] = one.resident_kb;
        if (two.resident_kb > resident[1]) resident[1] = two.resident_kb;
    }
    printf("{\"wall_us\":[%.0f,%.0f],\"wall_ratio\":%.3f,\"cpu_us\":[%.0f,%.0f],\"cpu_ratio\":%.3f,"
           "\"resident_kb\":[%.0f,%.0f]}\n",
           median(columns[0], rounds), median(columns[1], rounds), median(columns[2], rounds),
           median(columns[3], rounds), median(columns[4], rounds), median(columns[5], rounds), resident[0], resident[1]);
    return 0;
}
