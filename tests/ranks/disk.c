/* A library that a rank of mpirun loads first (LD_PRELOAD), whose files are not as they should be:
 *
 *     DISK_SLOW       each read takes so many times as long as what the process has done since the last
 *                     one, but no longer than a second: so a rank is slower than others on any machine
 *     DISK_SLOW_WHILE only while this file exists
 *     DISK_LOSES      set: what is written at an offset is lost, as where the folders of two hosts only
 *                     seem to be one
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

enum { MOST_NS = 1000000000 };

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void be_slow(void) {
    static _Thread_local long last; /* when the last read ended */
    const char *times = getenv("DISK_SLOW"), *file = getenv("DISK_SLOW_WHILE");
    const long began = now();
    if (times && last && (!file || access(file, F_OK) == 0)) {
        const double ns = strtod(times, NULL) * (double)(began - last);
        const long n = ns < MOST_NS ? (long)ns : MOST_NS;
        nanosleep(&(struct timespec){.tv_sec = n / 1000000000, .tv_nsec = n % 1000000000}, NULL);
    }
    last = now();
}

SEEN ssize_t pread64(int fd, void *data, size_t n, off64_t offset) {
    be_slow();
    return syscall(SYS_pread64, fd, data, n, offset);
}

SEEN ssize_t pread(int fd, void *data, size_t n, off_t offset) {
    return pread64(fd, data, n, offset);
}

SEEN ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset) {
    return getenv("DISK_LOSES") ? (ssize_t)n : syscall(SYS_pwrite64, fd, data, n, offset);
}

SEEN ssize_t pwrite(int fd, const void *data, size_t n, off_t offset) {
    return pwrite64(fd, data, n, offset);
}
