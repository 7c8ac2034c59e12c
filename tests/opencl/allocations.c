/* opencl/allocations.c - replaces malloc and the like, and counts calls by the caller's code. */
#include "opencl/allocations.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MAX_RANGES = 16 };

#ifndef __SANITIZE_ADDRESS__

static struct { uintptr_t begin, end; } ranges[MAX_RANGES];
static int n_ranges;
static bool counting;
static long counted;

/* The plugin must be able to find these, too. */
#pragma GCC visibility push(default)

/* glibc's functions, under the names that remain when a program defines malloc. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void *aligned_alloc(size_t alignment, size_t n);
int posix_memalign(void **out, size_t alignment, size_t n);

static void count(const void *caller) {
    const uintptr_t at = (uintptr_t)caller;
    for (int i = 0; counting && i < n_ranges; i++)
        counted += at >= ranges[i].begin && at < ranges[i].end;
}

void *malloc(size_t n) {
    count(__builtin_return_address(0));
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    count(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    count(__builtin_return_address(0));
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
    count(__builtin_return_address(0));
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : 12; /* ENOMEM */
}

#pragma GCC visibility pop

/* The program itself has an empty name in this list. */
static int take(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (*info->dlpi_name && !strstr(info->dlpi_name, "/opencl.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && n_ranges < MAX_RANGES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            ranges[n_ranges].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            ranges[n_ranges].end = ranges[n_ranges].begin + info->dlpi_phdr[i].p_memsz;
            n_ranges++;
        }
    return 0;
}

bool allocations_begin(void) {
    n_ranges = 0;
    dl_iterate_phdr(take, NULL);
    counted = 0;
    counting = true;
    return n_ranges >= 2;
}

long allocations_end(void) {
    counting = false;
    return counted;
}

#else

bool allocations_begin(void) {
    return false;
}

long allocations_end(void) {
    return 0;
}

#endif
