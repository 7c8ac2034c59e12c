/* backends/opencl/device/pages.c - memory of a CPU device in huge pages.
 *
 * CPU drivers take the memory of buffers from malloc, which has pages of 4 KiB where the system's
 * setting is madvise. Weights stream from such pages into the cores at 41 GB/s, from huge pages at
 * 58 GB/s (2 Zen 4 cores, pocl 3.1): the processor's prefetcher stops at the end of each page.
 * Weights share mappings and lie in them side by side: small ones have huge pages too, and large ones
 * no page of their own for what is left of them (36 MiB of a model of 1.3 GB). Memory that is never
 * touched costs nothing. */
#include "backends/opencl/device/pages.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "tensor/parallel.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    WEIGHTS_BYTES = 256 << 20, /* of a mapping that weights share */
    STATES_BYTES = 32 << 20,   /* and states, which come and go */
    LEAST_BYTES = 64 << 10
};

struct tsri_opencl_pages {
    tsri_opencl_pages *next;
    uint32_t kind; /* of all its buffers */
    char *memory;
    size_t bytes, used;
    size_t live; /* number of buffers in it */
};

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/* What a buffer takes of a mapping: whole pages of the system, because give_part gives whole pages
 * back. Linux has pages of 4, 16 or 64 KiB. */
static size_t room_of(uint64_t bytes) {
    return round_up((size_t)bytes, tsri_system_page_size());
}

/* A mapping that begins at a huge page. */
static char *map(size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const size_t room = bytes + HUGE_PAGE;
    char *all = mmap(NULL, room, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    char *memory = all + (round_up((size_t)all, HUGE_PAGE) - (size_t)all);
    if (memory > all)
        munmap(all, (size_t)(memory - all));
    if (all + room > memory + bytes)
        munmap(memory + bytes, (size_t)(all + room - memory) - bytes);
    if (madvise(memory, bytes, MADV_HUGEPAGE) == 0)
        return memory;
    munmap(memory, bytes); /* this system's kernel has no huge pages */
#endif
    (void)bytes;
    return NULL;
}

/* Pages first .. end - 1 from `data` on. A kernel that can't do it (before Linux 5.14) clears them at
 * their first use. */
static tsr_status clear_part(void *data, int64_t first, int64_t end) {
#if defined(MADV_POPULATE_WRITE)
    (void)madvise((char *)data + first * HUGE_PAGE, (size_t)(end - first) * HUGE_PAGE,
                  MADV_POPULATE_WRITE);
#endif
    (void)data, (void)first, (void)end;
    return TSR_OK;
}

/* Has the system clear the pages of a weight, which is filled next, by all threads. When they are
 * packed into it, each thread's rows begin in the middle of a page that is then cleared by the one
 * whose rows begin there, so one thread of two cleared nearly all of them. */
static void clear_pages(const tsr_dev *dev, const tsri_opencl_pages *pages, const char *memory,
                        size_t bytes) {
    const size_t begin = (size_t)(memory - pages->memory) / HUGE_PAGE,
                 end = round_up((size_t)(memory - pages->memory) + bytes, HUGE_PAGE) / HUGE_PAGE;
    (void)tsri_tensor_parallel(tsri_tensor_threads(dev->facts.common.compute_units, bytes),
                               (int64_t)(end - begin), 1, clear_part,
                               pages->memory + begin * HUGE_PAGE);
}

void *tsri_opencl_pages_take(tsr_dev *dev, const tsr_buffer_spec *spec, tsri_opencl_pages **pages) {
    const bool streams = spec->kind == TSR_KIND_WEIGHT || spec->kind == TSR_KIND_STATE;
    *pages = NULL;
    if (!streams || !dev->facts.cpu || (dev->found->effects & TSRI_OPENCL_WATCHES_MEMORY) ||
        spec->bytes < LEAST_BYTES)
        return NULL;
    const size_t bytes = room_of(spec->bytes),
                 shared = spec->kind == TSR_KIND_WEIGHT ? WEIGHTS_BYTES : STATES_BYTES;
    tsri_opencl_pages *at = dev->pages;
    while (at && (at->kind != spec->kind || at->bytes - at->used < bytes))
        at = at->next;
    if (!at) {
        if (tsri_base_new(1, sizeof *at, &at) != TSR_OK)
            return NULL;
        at->kind = spec->kind;
        at->bytes = round_up(bytes > shared ? bytes : shared, HUGE_PAGE);
        at->memory = map(at->bytes);
        if (!at->memory) {
            free(at);
            return NULL;
        }
        at->next = dev->pages;
        dev->pages = at;
    }
    char *memory = at->memory + at->used;
    at->used += bytes;
    at->live++;
    *pages = at;
    if (spec->kind == TSR_KIND_WEIGHT)
        clear_pages(dev, at, memory, bytes);
    return memory;
}

/* Gives back what one buffer of a mapping took, while others are in use. The next one there finds zeros. */
static void give_part(tsri_opencl_pages *pages, char *memory, size_t bytes) {
    if (madvise(memory, bytes, MADV_DONTNEED) == 0 && memory + bytes == pages->memory + pages->used)
        pages->used -= bytes;
}

void tsri_opencl_pages_give(tsr_dev *dev, tsri_opencl_pages *pages, void *memory, uint64_t bytes) {
    if (!pages)
        return;
    if (--pages->live) {
        if (!dev->uncertain)
            give_part(pages, memory, room_of(bytes));
        return;
    }
    for (tsri_opencl_pages **at = &dev->pages; *at; at = &(*at)->next)
        if (*at == pages) {
            *at = pages->next;
            break;
        }
    if (!dev->uncertain)
        munmap(pages->memory, pages->bytes);
    free(pages);
}
