/* Memory of weights and states on a CPU: side by side, and given back one by one; states are zeroed
 * without being touched. */
#include "base/memory.h"
#include "base/system/system.h"
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NEAR: the ends of three mappings, and what else a process may take. */
enum { BUFFERS = 8, MIB = 1 << 20, PAGE = 4096, NEAR = 8 * MIB };

/* --- a system with larger pages, as the plugin sees it --- */

enum { LARGE_PAGE = 64 << 10 };
static bool large_pages;
static int mapped, given_back; /* mappings of the plugin; parts of them that it gave back */

static bool is_plugin(const void *caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/opencl.so");
}

/* In place of the C library's functions, so the plugin must be able to find them. */
#pragma GCC visibility push(default)

int getpagesize(void) {
    return large_pages && is_plugin(__builtin_return_address(0)) ? LARGE_PAGE
                                                                 : (int)sysconf(_SC_PAGESIZE);
}

/* As Linux: an address within a page is refused, and a length is rounded up to whole pages. */
int madvise(void *memory, size_t bytes, int advice) {
    const bool large = large_pages && is_plugin(__builtin_return_address(0));
    if (large && (uintptr_t)memory % LARGE_PAGE) {
        errno = EINVAL;
        return -1;
    }
    if (large)
        bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    const bool done = syscall(SYS_madvise, memory, bytes, advice) == 0;
    if (large && done && advice == MADV_HUGEPAGE)
        mapped++;
    if (large && done && advice == MADV_DONTNEED)
        given_back++;
    return done ? 0 : -1;
}

#pragma GCC visibility pop

static char *rows; /* of the largest weight; kept, as the heap would keep some of it */

static void make(rig *r, uint64_t bytes, tsr_buf **buf) {
    const tsr_buffer_spec spec = {
        .struct_size = sizeof spec, .kind = TSR_KIND_WEIGHT, .bytes = bytes};
    const tsr_layout layout = {.struct_size = sizeof layout,
                               .dtype = TSR_F32,
                               .row_block = 1,
                               .rows = 1,
                               .columns = (int64_t)bytes / 4,
                               .bytes = bytes};
    const tsr_rows all = {.struct_size = sizeof all,
                          .dtype = TSR_F32,
                          .count = 1,
                          .columns = layout.columns,
                          .data = rows};
    cr_assert_eq(r->backend->buffer_create(r->dev, &spec, buf), TSR_OK, "%s", r->sentence);
    cr_assert_eq(r->backend->weight_store(r->dev, &layout, &all, *buf), TSR_OK, "%s", r->sentence);
}

static void begin(rig *r) {
    enum { LARGEST = 70 * MIB + PAGE };
    cr_assert(rows = malloc(LARGEST));
    memset(rows, 0x5a, LARGEST);
    rig_begin(r, NULL, NULL);
    rig_open(r, "Portable Computing Language", false);
}

static void end(rig *r) {
    rig_end(r);
    free(rows);
}

/* Whether weights of so many bytes, each a little over a whole number of huge pages, take little more
 * than that, and come back when they are destroyed in the order given by `step`. */
static void take_and_give(rig *r, uint64_t bytes, int step) {
    tsr_buf *bufs[BUFFERS];
    const uint64_t before = tsri_system_resident();
    for (int i = 0; i < BUFFERS; i++)
        make(r, bytes, &bufs[i]);
    const uint64_t filled = tsri_system_resident();
    cr_expect_lt(filled, before + BUFFERS * bytes + NEAR, "%llu KiB for 8 of %llu",
                 (unsigned long long)(filled - before) / 1024, (unsigned long long)bytes / 1024);
    for (int i = 0; i < BUFFERS - 1; i++)
        r->backend->buffer_destroy(bufs[step > 0 ? i : BUFFERS - 1 - i]);
    const uint64_t left = tsri_system_resident();
    cr_expect_lt(left, filled - (BUFFERS - 1) * bytes + NEAR, "%llu KiB of 8 of %llu left",
                 (unsigned long long)(left - before) / 1024, (unsigned long long)bytes / 1024);
    r->backend->buffer_destroy(bufs[step > 0 ? BUFFERS - 1 : 0]);
}

Test(opencl_pages, weights_take_their_bytes_and_give_them_back) {
    rig r;
    begin(&r);
    tsr_buf *first = NULL;
    make(&r, MIB, &first); /* what the driver and this test need once */
    for (int step = -1; step < 2; step += 2) {
        take_and_give(&r, 4 * MIB + PAGE, step);
        take_and_give(&r, 10 * MIB + PAGE, step);
        take_and_give(&r, 70 * MIB + PAGE, step);
    }
    r.backend->buffer_destroy(first);
    end(&r);
}

/* Whether bytes of a weight stay its own when its neighbours go and others come. */
static void replace_neighbours(void) {
    enum { BYTES = 3 * MIB + PAGE };
    rig r;
    begin(&r);
    tsr_buf *bufs[3];
    for (int i = 0; i < 3; i++)
        make(&r, BYTES, &bufs[i]);
    r.backend->buffer_destroy(bufs[0]);
    r.backend->buffer_destroy(bufs[2]);
    make(&r, BYTES, &bufs[0]);
    make(&r, BYTES, &bufs[2]);
    unsigned char *back = malloc(BYTES);
    cr_assert(back);
    for (int i = 0; i < 3; i++) {
        memset(back, 0, BYTES);
        rig_transfer(&r, TSR_TRANSFER_READ, bufs[i], back, BYTES);
        size_t wrong = 0;
        for (size_t j = 0; j < BYTES; j++)
            wrong += back[j] != 0x5a;
        cr_expect_eq(wrong, 0, "weight %d: %zu bytes differ", i, wrong);
    }
    free(back);
    for (int i = 0; i < 3; i++)
        r.backend->buffer_destroy(bufs[i]);
    end(&r);
}

Test(opencl_pages, neighbours_keep_their_bytes) {
    replace_neighbours();
}

/* Linux on Arm and POWER has such pages. */
Test(opencl_pages, neighbours_keep_their_bytes_in_pages_of_64_kib) {
    large_pages = true;
    replace_neighbours();
    if (!mapped)
        cr_skip_test("weights lie in the driver's memory: no CPU device, or no huge pages here");
    cr_expect_geq(given_back, 2, "%d parts were given back", given_back);
}

static tsr_buf *zeroed(rig *r, uint64_t bytes) {
    const tsr_buffer_spec spec = {
        .struct_size = sizeof spec, .kind = TSR_KIND_STATE, .bytes = bytes, .zeroed = 1};
    tsr_buf *buf = NULL;
    cr_assert_eq(r->backend->buffer_create(r->dev, &spec, &buf), TSR_OK, "%s", r->sentence);
    return buf;
}

static void expect_zeros(rig *r, tsr_buf *buf, uint64_t bytes) {
    memset(rows, 0x5a, bytes);
    rig_transfer(r, TSR_TRANSFER_READ, buf, rows, bytes);
    size_t others = 0;
    for (size_t i = 0; i < bytes; i++)
        others += rows[i] != 0;
    cr_expect_eq(others, 0, "%zu bytes of %llu are not 0", others, (unsigned long long)bytes);
}

Test(opencl_pages, states_take_nothing_until_they_are_used) {
    enum { BYTES = 24 * MIB };
    rig r;
    begin(&r);
    tsr_buf *states[BUFFERS];
    r.backend->buffer_destroy(zeroed(&r, MIB)); /* what the driver and this test need once */
    const uint64_t before = tsri_system_resident();
    for (int i = 0; i < BUFFERS; i++)
        states[i] = zeroed(&r, BYTES);
    const uint64_t made = tsri_system_resident();
    cr_expect_lt(made, before + NEAR, "%llu KiB", (unsigned long long)(made - before) / 1024);
    for (int i = 0; i < BUFFERS; i++)
        r.backend->buffer_destroy(states[i]);
    end(&r);
}

/* In pages of its own, in the driver's memory, and where another state lay before. */
Test(opencl_pages, states_are_zeroed) {
    static const uint64_t sizes[] = {4, 60 << 10, 64 << 10, 3 * MIB + PAGE + 4};
    rig r;
    begin(&r);
    tsr_buf *neighbour = zeroed(&r, MIB);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int again = 0; again < 2; again++) {
            tsr_buf *buf = zeroed(&r, sizes[i]);
            expect_zeros(&r, buf, sizes[i]);
            memset(rows, 0x5a, sizes[i]);
            rig_transfer(&r, TSR_TRANSFER_WRITE, buf, rows, sizes[i]);
            r.backend->buffer_destroy(buf);
        }
    r.backend->buffer_destroy(neighbour);
    end(&r);
}
