/* Weights on a device with memory of its own: they arrive whole, and no write is waited for. */
#include "opencl/rig.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3000, COLUMNS = 1000 }; /* 12 MB: no multiple of what is staged at a time */

static const tsr_layout layout = {.struct_size = sizeof layout,
                                  .dtype = TSR_F32,
                                  .row_block = 1,
                                  .rows = ROWS,
                                  .columns = COLUMNS,
                                  .bytes = (uint64_t)ROWS * COLUMNS * 4};

/* Stores the rows in calls of `block`, and loads them. */
static void store_and_load(rig *r, int64_t block) {
    const size_t n = (size_t)ROWS * COLUMNS;
    const tsr_buffer_spec spec = {
        .struct_size = sizeof spec, .kind = TSR_KIND_WEIGHT, .bytes = layout.bytes};
    tsr_buf *buf = NULL;
    float *values = malloc(n * sizeof *values), *back = malloc(n * sizeof *back),
          *rows = malloc((size_t)(block * COLUMNS) * sizeof *rows);
    cr_assert(values && back && rows);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i * 7 % 8191);
    cr_assert_eq(r->backend->buffer_create(r->dev, &spec, &buf), TSR_OK, "%s", r->sentence);
    long (*writes)(int) = NULL;
    void *layer = dlopen(SLOW_LAYER, RTLD_NOW | RTLD_NOLOAD);
    if (layer)
        *(void **)&writes = dlsym(layer, "slow_writes");
    const long waited = writes ? writes(1) : 0, free_running = writes ? writes(0) : 0;
    for (int64_t first = 0; first < ROWS; first += block) {
        const int64_t count = first + block < ROWS ? block : ROWS - first;
        /* the caller's memory is used again at once */
        memcpy(rows, values + first * COLUMNS, (size_t)(count * COLUMNS) * sizeof *rows);
        cr_assert_eq(r->backend->weight_store(r->dev, &layout,
                                              &(tsr_rows){.struct_size = sizeof(tsr_rows),
                                                          .dtype = TSR_F32,
                                                          .first = first,
                                                          .count = count,
                                                          .columns = COLUMNS,
                                                          .data = rows},
                                              buf),
                     TSR_OK, "%s", r->sentence);
        memset(rows, 0xff, (size_t)(count * COLUMNS) * sizeof *rows);
    }
    if (writes) {
        cr_expect_eq(writes(1), waited, "writes that were waited for");
        cr_expect_geq(writes(0) - free_running, 3);
    }
    tsr_rows all = {.struct_size = sizeof all,
                    .dtype = TSR_F32,
                    .count = ROWS,
                    .columns = COLUMNS,
                    .data = back};
    cr_assert_eq(r->backend->weight_load(r->dev, &layout, buf, &all), TSR_OK, "%s", r->sentence);
    cr_expect_eq(memcmp(values, back, n * sizeof *back), 0, "rows by %lld", (long long)block);
    r->backend->buffer_destroy(buf);
    free(values);
    free(back);
    free(rows);
}

static void stores(const char *layer) {
    rig r;
    if (layer)
        setenv("OPENCL_LAYERS", layer, 1);
    rig_begin(&r, NULL, NULL);
    rig_open(&r, "Portable Computing Language", false);
    store_and_load(&r, 1000);
    store_and_load(&r, ROWS);
    store_and_load(&r, 77);
    rig_end(&r);
}

Test(opencl_staging, weights_go_by_way_of_pinned_memory) {
    stores(SLOW_LAYER);
}

Test(opencl_staging, shared_memory_is_written_directly) {
    stores(NULL);
}
