/* Memory of weights on a CPU: side by side, and given back one by one. */
#include "base/memory.h"
#include "base/system/system.h"
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NEAR: the ends of three mappings, and what else a process may take. */
enum { BUFFERS = 8, MIB = 1 << 20, PAGE = 4096, NEAR = 8 * MIB };

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

/* Bytes of a weight stay its own when its neighbours go and others come. */
Test(opencl_pages, neighbours_keep_their_bytes) {
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
