/* Which layers run on which device: by the kind of the devices and their memory. The devices are the
 * reference, which says that it is something else. */
#include "base/error.h"
#include "run/context.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 6, C = 128, LAYER = C * C * 4 };

static char said[4096];

static void hear(void *data, tsr_log_level level, const char *line) {
    (void)data;
    (void)level;
    strncat(said, line, sizeof said - strlen(said) - 1);
}

/* Layers of one weight each, [width, width], on an input of up to 15 rows. */
static tsri_graph *layers(int64_t width) {
    static const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    const tsr_dim rows = tsri_tensor_symbol(TSR_SYM_B), columns = tsri_tensor_const(width);
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    tsri_value x =
        tsri_graph_leaf(g, TSR_KIND_INPUT, 0, "x", TSR_F32, 2, (tsr_dim[]){rows, columns});
    for (int i = 0; i < LAYERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", i);
        const tsri_value w = tsri_graph_leaf(g, TSR_KIND_WEIGHT, (uint32_t)i, name, TSR_F32, 2,
                                             (tsr_dim[]){columns, columns});
        tsri_graph_scope(g, i, name);
        x = tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){x, w}, 2);
    }
    tsri_graph_output(g, 0, "y", x);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

static tsr_status rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                       void *out) {
    (void)data;
    (void)id;
    (void)first;
    (void)dtype;
    memset(out, 0, (size_t)count * C * 4);
    return TSR_OK;
}

static const tsri_run_source source = {.rows = rows};
static const tsr_bounds bounds = {
    .struct_size = sizeof bounds, .lowest = {1, 1, 0, 0, 0}, .highest = {15, 1, 1, 1, 1}};

enum { SHARES = -1 }; /* in place of a room: it has the host's memory */

typedef struct kind {
    uint32_t type;
    double room; /* layers that its memory holds, with what else it has; 0: any number */
} kind;

/* Loads the graph on n devices of these kinds, and destroys it; on[i] is the number of layers on
 * device i. */
static tsr_status load_graph(tsri_graph *g, const tsri_run_source *from, const kind *kinds,
                             size_t n, int *on) {
    const tsri_backend_options none = {0};
    tsri_backend_set *set;
    tsri_backend_device *devices[3];
    tsri_run_context *context;
    tsri_run_plan *plan;
    tsri_run_step step;
    size_t index;
    said[0] = 0;
    cr_assert_eq(tsri_backend_set_open(&none, &set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(set, "reference", 0, &index), TSR_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(tsri_backend_device_open(set, index, NULL, &devices[i]), TSR_OK);
        devices[i]->facts.type = kinds[i].type;
        devices[i]->facts.memory = kinds[i].room > 0 ? (uint64_t)(kinds[i].room * LAYER) : 0;
        devices[i]->facts.unified_memory = kinds[i].room < 0;
        on[i] = 0;
    }
    const tsri_run_options options = {.devices = devices, .n_devices = n, .set = set, .log = hear};
    cr_assert_eq(tsri_run_create(&options, &context), TSR_OK);
    tsr_status status = tsri_run_load(context, g, &bounds, from);
    if (status == TSR_OK)
        status = tsri_run_prepare(context, g, &bounds, &plan);
    for (size_t i = 0; status == TSR_OK && i < tsri_run_step_count(plan); i++) {
        cr_assert_eq(tsri_run_step_at(plan, i, &step), TSR_OK);
        on[step.device]++;
    }
    tsri_run_destroy(&context);
    for (size_t i = 0; i < n; i++)
        tsri_backend_device_close(&devices[i]);
    tsri_backend_set_close(&set);
    tsri_graph_destroy(&g);
    return status;
}

static tsr_status load(const kind *kinds, size_t n, int *on) {
    return load_graph(layers(C), &source, kinds, n, on);
}

enum { CPU = TSR_DEVICE_CPU, GPU = TSR_DEVICE_GPU };

Test(run_deal, by_memory) {
    static const struct {
        kind kinds[3];
        int on[3];
    } table[] = {
        {{{CPU, 0}, {CPU, 0}}, {3, 3}},
        {{{GPU, 0}, {GPU, 9}}, {3, 3}},
        {{{GPU, 9}, {CPU, 0}}, {6, 0}}, /* all of them fit */
        {{{CPU, 0}, {GPU, 9}}, {0, 6}},
        {{{GPU, 2.6}, {CPU, 0}}, {2, 4}},
        {{{CPU, 0}, {GPU, 2.6}}, {4, 2}},
        {{{GPU, 1.6}, {GPU, 0}}, {1, 5}},
        {{{CPU, 1.6}, {CPU, 9}}, {1, 5}},
        {{{GPU, 1.6}, {CPU, 0}, {GPU, 2.6}}, {1, 3, 2}},
        {{{TSR_DEVICE_ACCELERATOR, 1.6}, {TSR_DEVICE_OTHER, 0}}, {1, 5}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t n = table[i].kinds[2].type ? 3 : 2;
        int on[3];
        cr_assert_eq(load(table[i].kinds, n, on), TSR_OK, "%zu: %s", i, tsr_error_last());
        for (size_t d = 0; d < n; d++)
            cr_expect_eq(on[d], table[i].on[d], "%zu: %d on device %zu, not %d", i, on[d], d,
                         table[i].on[d]);
    }
}

Test(run_deal, how_many_fit_is_said) {
    int on[2];
    cr_assert_eq(load((kind[]){{GPU, 2.6}, {CPU, 0}}, 2, on), TSR_OK);
    cr_expect(strstr(said, "layers: 2 of 6 on ") &&
                  strstr(said, ", as many as its 0 MiB hold; 4 on "),
              "%s", said);
    cr_assert_eq(load((kind[]){{CPU, 0}, {CPU, 0}}, 2, on), TSR_OK);
    cr_expect(strstr(said, "layers: 3 of 6 on ") && !strstr(said, "hold"), "%s", said);
    cr_expect_eq(load((kind[]){{GPU, 2.6}}, 1, on), TSR_E_DEVICE_MEMORY);
    cr_expect(strstr(tsr_error_last(), "are available, enough for 2 of 6 layers: use a shorter"),
              "%s", tsr_error_last());
    cr_expect_eq(load((kind[]){{GPU, 1.6}, {CPU, 1.6}}, 2, on), TSR_E_DEVICE_MEMORY);
}

static tsr_status no_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                          void *out) {
    (void)data, (void)id, (void)first, (void)count, (void)dtype, (void)out;
    return tsri_base_fail(TSR_E_IO, "nothing is loaded");
}

/* Layers that each need a fourth of the host's free memory: what devices that share it hold is counted
 * together. No weight is read. */
Test(run_deal, devices_that_share_the_host_s_memory_have_it_once) {
    static const tsri_run_source empty = {.rows = no_rows};
    const tsr_facts sharing = {.unified_memory = 1};
    const uint64_t host = tsri_run_host_memory(&sharing);
    int on[3];
    if (host == UINT64_MAX)
        cr_skip_test("this system doesn't say how much memory is free");
    const int64_t width = (int64_t)sqrt((double)host / 16);
    cr_expect_eq(load_graph(layers(width), &empty, (kind[]){{CPU, SHARES}, {CPU, SHARES}}, 2, on),
                 TSR_E_HOST_MEMORY);
    cr_expect(strstr(tsr_error_last(), "Tessera/reference + Tessera/reference: weights need "),
              "%s", tsr_error_last());
    cr_expect_eq(load_graph(layers(width), &empty, (kind[]){{GPU, SHARES}, {CPU, SHARES}}, 2, on),
                 TSR_E_HOST_MEMORY);
    cr_expect_eq(
        load_graph(layers(width), &empty, (kind[]){{GPU, SHARES}, {GPU, SHARES}, {GPU, 0}}, 3, on),
        TSR_E_IO);
    cr_expect(strstr(said, "layers: 2 of 6 on Tessera/reference; 1 on Tessera/reference; 3 on "),
              "%s", said);
}

/* Ranks get equal shares, but no more than they hold, and each gets a layer. */
Test(run_deal, over_ranks) {
    static const struct {
        double room[LAYERS];
        int on[LAYERS];
    } table[] = {
        {{9, 9}, {3, 3}},
        {{9, 9, 9}, {2, 2, 2}},
        {{2.6, 9}, {2, 4}},
        {{9, 1.6, 9}, {3, 1, 2}},
        {{9, 9, 9, 9, 9, 9}, {1, 1, 1, 1, 1, 1}},
        {{1.1, 0.1, 9}, {1, 1, 4}}, /* the budget of the second one says that it is too small */
        {{9, 0.1, 0.1}, {4, 1, 1}},
    };
    tsri_graph *g = layers(C);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tsri_run_holder holders[LAYERS];
        int ends[LAYERS];
        tsri_run_dealt dealt;
        size_t n = 0;
        for (; n < LAYERS && table[i].room[n] > 0; n++)
            holders[n] = (tsri_run_holder){.memory = (uint64_t)(table[i].room[n] * LAYER)};
        cr_assert_eq(tsri_run_deal_to_ranks(g, &bounds, holders, n, ends, &dealt), TSR_OK);
        cr_expect(dealt.layers == LAYERS && dealt.bytes == LAYERS * LAYER);
        for (size_t r = 0; r < n; r++)
            cr_expect_eq(ends[r] - (r ? ends[r - 1] : 0), table[i].on[r], "%zu: %d on rank %zu", i,
                         ends[r] - (r ? ends[r - 1] : 0), r);
    }
    tsri_graph_destroy(&g);
}
