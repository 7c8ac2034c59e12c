/* tests/faults/host_layer.c - a layer between the command and libc, preloaded: the n-th allocation,
 * or the n-th call on a file, fails.
 *
 *     TESSERA_FAULT   alloc N       the N-th allocation gives NULL, ENOMEM
 *                     memory N      the N-th and all that follow
 *                     json N        the N-th of the JSON library's own
 *                     file N HOW    the N-th call on a file: no-space, broken (EIO), interrupted
 * (EINTR), short (half of a read or write is done), nothing (a write of 0 bytes), full (no-space,
 * and so do all that follow) TESSERA_FAULT_COUNT  a file, where the numbers of allocations, of
 * calls on files and of allocations by the JSON library are written at the end
 *
 * Calls count that come from the program itself, from libtessera or from the parsers it uses: what
 * libc and drivers do for themselves is not ours to survive. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

static struct {
    uintptr_t begin, end;
    bool json;
} ours[MOST];
static size_t n_ours;
static atomic_long allocations, allocations_of_json, calls;
static long fail_allocation, fail_json, fail_call; /* 0: none */
static bool all_memory, full;
static char how[16];

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static int add_object(struct dl_phdr_info *info, size_t size, void *data) {
    static const char *const names[] = {"libtessera", "libjansson", "libpcre2", "libutf8proc"};
    bool wanted = !*info->dlpi_name; /* the program */
    (void)size, (void)data;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        wanted |= strstr(info->dlpi_name, names[i]) != NULL;
    for (int i = 0; wanted && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && n_ours < MOST) {
            ours[n_ours].json = strstr(info->dlpi_name, "libjansson") != NULL;
            ours[n_ours].begin = info->dlpi_addr + part->p_vaddr;
            ours[n_ours++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("TESSERA_FAULT");
    unsetenv("LD_PRELOAD"); /* a helper program is not what fails */
    dl_iterate_phdr(add_object, NULL);
    if (!fault)
        return;
    all_memory = sscanf(fault, "memory %ld", &fail_allocation) == 1;
    if (!all_memory && sscanf(fault, "alloc %ld", &fail_allocation) != 1 &&
        sscanf(fault, "json %ld", &fail_json) != 1)
        sscanf(fault, "file %ld %15s", &fail_call, how);
    full = !strcmp(how, "full");
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("TESSERA_FAULT_COUNT");
    char text[64];
    const int n = snprintf(text, sizeof text, "%ld %ld %ld\n", (long)allocations, (long)calls,
                           (long)allocations_of_json);
    const int fd =
        path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd >= 0 && syscall(SYS_write, fd, text, (size_t)n) == n)
        syscall(SYS_close, fd);
}

/* Its place in `ours`, or n_ours. */
static size_t place_of(const void *caller) {
    const uintptr_t at = (uintptr_t)caller;
    size_t i = 0;
    while (i < n_ours && (at < ours[i].begin || at >= ours[i].end))
        i++;
    return i;
}

static bool is_ours(const void *caller) {
    return place_of(caller) < n_ours;
}

static bool refused(const void *caller) {
    const size_t place = place_of(caller);
    if (place == n_ours)
        return false;
    const long number = ++allocations, of_json = ours[place].json ? ++allocations_of_json : 0;
    if (number == fail_allocation || (all_memory && number > fail_allocation) ||
        (of_json && of_json == fail_json)) {
        errno = ENOMEM;
        return true;
    }
    return false;
}

#define CALLER __builtin_return_address(0)

#ifndef FAULT_FILES_ONLY
void *malloc(size_t n) {
    return refused(CALLER) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return refused(CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n) {
    return refused(CALLER) ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    return refused(CALLER) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
    void *p = refused(CALLER) ? NULL : __libc_memalign(alignment, n);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    if (refused(CALLER))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}
#endif

/* ---- files ---- */

typedef enum fault { NONE, FAIL, SHORT, NOTHING } fault;

/* What becomes of this call; errno is set for FAIL. */
static fault next(const void *caller) {
    if (!is_ours(caller))
        return NONE;
    const long number = ++calls;
    if (!fail_call || (number != fail_call && !(full && number > fail_call)))
        return NONE;
    if (!strcmp(how, "short"))
        return SHORT;
    if (!strcmp(how, "nothing"))
        return NOTHING;
    errno = !strcmp(how, "broken") ? EIO : !strcmp(how, "interrupted") ? EINTR : ENOSPC;
    return FAIL;
}

/* A full disk still reads, closes and removes. */
static fault next_reading(const void *caller) {
    if (!full || !is_ours(caller))
        return next(caller);
    ++calls;
    return NONE;
}

static ssize_t transfer(fault f, bool reads, long number, int fd, const void *data, size_t n,
                        off_t offset, bool placed) {
    if (f == FAIL)
        return -1;
    if (f == NOTHING && !reads)
        return 0;
    if (f == SHORT && n > 1)
        n /= 2;
    return placed ? syscall(number, fd, data, n, offset) : syscall(number, fd, data, n);
}

ssize_t read(int fd, void *data, size_t n) {
    return transfer(next_reading(CALLER), true, SYS_read, fd, data, n, 0, false);
}

ssize_t pread(int fd, void *data, size_t n, off_t offset) {
    return transfer(next_reading(CALLER), true, SYS_pread64, fd, data, n, offset, true);
}

ssize_t pread64(int fd, void *data, size_t n, off_t offset) {
    return transfer(next_reading(CALLER), true, SYS_pread64, fd, data, n, offset, true);
}

ssize_t write(int fd, const void *data, size_t n) {
    return transfer(next(CALLER), false, SYS_write, fd, data, n, 0, false);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset) {
    return transfer(next(CALLER), false, SYS_pwrite64, fd, data, n, offset, true);
}

static int open_file(const void *caller, const char *path, int flags, unsigned mode) {
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    const fault f = writes ? next(caller) : next_reading(caller);
    return f == FAIL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_file(CALLER, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_file(CALLER, path, flags | O_LARGEFILE, mode);
}

/* A file that isn't closed well is closed all the same. */
int close(int fd) {
    const fault f = next_reading(CALLER);
    const int why = errno, closed = (int)syscall(SYS_close, fd);
    if (f != FAIL)
        return closed;
    errno = why;
    return -1;
}

/* The disk isn't waited for: thousands of runs would. */
int fsync(int fd) {
    (void)fd;
    return next(CALLER) == FAIL ? -1 : 0;
}

int ftruncate(int fd, off_t n) {
    return next(CALLER) == FAIL ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int rename(const char *from, const char *to) {
    return next(CALLER) == FAIL ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char *path, mode_t mode) {
    return next(CALLER) == FAIL ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int link(const char *from, const char *to) {
    return next(CALLER) == FAIL ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

#define LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
    static __typeof__(&fwrite) real;
    real = real ? real : LIBC(fwrite);
    if (file != stderr && next(CALLER) == FAIL)
        return 0;
    return real(data, size, n, file);
}

int fflush(FILE *file) {
    static __typeof__(&fflush) real;
    real = real ? real : LIBC(fflush);
    return file != stderr && __fpending(file) && next(CALLER) == FAIL ? EOF : real(file);
}
