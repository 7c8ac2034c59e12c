/* Weights that are larger than one buffer: the ops over their parts give what one op gives. */
#include "run/parts.h"

#include "run/run.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A tile of 64 rows has 16384 bytes; an expert has one for its outputs, two for its gates and ups. */
enum { ROWS = 9, K = 64, N = 300, F = 200, MOST = 40000, EXPERTS = 5, EACH = 2, WIDTH = 64 };

static tsri_value weight(tsri_graph *g, uint32_t id, const char *name, int64_t n) {
    return tsri_graph_leaf(g, TSR_KIND_WEIGHT, id, name, TSR_F32, 2,
                           (tsr_dim[]){tsri_tensor_const(n), tsri_tensor_const(K)});
}

/* Of the experts that `ids` names for each row: the gated products of x by d, then by e. */
static tsri_value of_experts(tsri_graph *g, tsri_value x, tsr_dim rows) {
    const tsr_linear_attrs plain = {.struct_size = sizeof plain, .trans_w = 1};
    const tsr_glu_linear_attrs silu = {
        .struct_size = sizeof silu, .trans_w = 1, .activation = TSR_ACT_SILU};
    const tsr_dim each = tsri_tensor_const(EACH), experts = tsri_tensor_const(EXPERTS),
                  width = tsri_tensor_const(WIDTH), both = tsri_tensor_const(2 * WIDTH),
                  k = tsri_tensor_const(K);
    const tsri_value ids = tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "ids", TSR_I32, 2,
                                           (tsr_dim[]){rows, each}),
                     d = weight(g, 3, "d", EXPERTS * 2 * WIDTH),
                     e = weight(g, 4, "e", EXPERTS * WIDTH),
                     bias = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 5, "d_bias", TSR_F32, 2,
                                            (tsr_dim[]){experts, both}),
                     gates = tsri_graph_reshape(g, d, 3, (tsr_dim[]){experts, both, k}),
                     outputs = tsri_graph_reshape(g, e, 3, (tsr_dim[]){experts, width, k});
    const tsri_value rows_of_x =
        tsri_graph_reshape(g, x, 3, (tsr_dim[]){rows, tsri_tensor_const(1), k});
    const tsri_value inner = tsri_graph_op1(g, TSR_OP_EXPERT_GLU_LINEAR, &silu,
                                            (tsri_value[]){rows_of_x, gates, ids, bias}, 4);
    return tsri_graph_op1(g, TSR_OP_EXPERT_LINEAR, &plain, (tsri_value[]){inner, outputs, ids}, 3);
}

/* y = x a' + bias; z = gelu(x b' + bias) + y; g = silu(x c'[:F]) * (x c'[F:]) */
static tsri_graph *products(void) {
    const tsr_linear_attrs plain = {.struct_size = sizeof plain, .trans_w = 1},
                           gelu = {.struct_size = sizeof gelu,
                                   .trans_w = 1,
                                   .activation = TSR_ACT_GELU};
    const tsr_glu_linear_attrs silu = {
        .struct_size = sizeof silu, .trans_w = 1, .activation = TSR_ACT_SILU};
    const tsr_dim rows = tsri_tensor_symbol(TSR_SYM_B), n = tsri_tensor_const(N);
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsri_value x = tsri_graph_leaf(g, TSR_KIND_INPUT, 0, "x", TSR_F32, 2,
                                         (tsr_dim[]){rows, tsri_tensor_const(K)}),
                     bias = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 9, "bias", TSR_F32, 1, &n),
                     a = weight(g, 0, "a", N), b = weight(g, 1, "b", N),
                     c = weight(g, 2, "c", 2 * F);
    tsri_graph_scope(g, 0, "products");
    const tsri_value y = tsri_graph_op1(g, TSR_OP_LINEAR, &plain, (tsri_value[]){x, a, bias}, 3);
    tsri_graph_output(g, 0, "z",
                      tsri_graph_op1(g, TSR_OP_LINEAR, &gelu, (tsri_value[]){x, b, bias, y}, 4));
    tsri_graph_output(g, 1, "g",
                      tsri_graph_op1(g, TSR_OP_GLU_LINEAR, &silu, (tsri_value[]){x, c}, 2));
    tsri_graph_output(g, 2, "m", of_experts(g, x, rows));
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    const int64_t columns = id == 9 ? N : id == 5 ? 2 * WIDTH : K;
    (void)data;
    cr_assert_eq(dtype, TSR_F32);
    for (int64_t i = 0; i < count * columns; i++)
        ((float *)out)[i] = sinf((float)(first * columns + i) + 100.0f * (float)id);
    return TSR_OK;
}

static void count(void *data, const tsr_variant *variant) {
    *(int *)data += variant->chosen != 0;
}

typedef struct results {
    float z[ROWS * N], g[ROWS * F], m[ROWS * EACH * WIDTH];
    size_t steps;
    tsr_status status;
} results;

/* Runs the products on a device whose buffers have at most `most` bytes; 0: as it is. */
static void compute(const char *name, uint64_t most, results *out) {
    static const tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 0, 0, 0}, .highest = {ROWS, 1, 1, 1, 1}};
    static const int64_t sizes[TSR_SYMBOLS] = {ROWS, 1, 0, 0, 0};
    const tsri_backend_options none = {0};
    const tsri_run_source source = {.rows = give_rows};
    tsri_backend_set *set;
    tsri_backend_device *device;
    tsri_run_context *context;
    tsri_run_plan *plan;
    size_t index;
    float x[ROWS * K];
    int32_t ids[ROWS * EACH];
    tsri_graph *g = products();
    for (int i = 0; i < ROWS * K; i++)
        x[i] = cosf((float)i);
    for (int i = 0; i < ROWS * EACH; i++)
        ids[i] = i * 7 % 12 % EXPERTS; /* in no order; some rows name one twice */
    cr_assert_eq(tsri_backend_set_open(&none, &set), TSR_OK, "%s", tsr_error_last());
    if (tsri_backend_select(set, name, 0, &index) != TSR_OK)
        cr_skip_test("%s", tsr_error_last());
    cr_assert_eq(tsri_backend_device_open(set, index, NULL, &device), TSR_OK);
    if (most)
        device->facts.max_allocation = most;
    const tsri_run_options options = {.devices = &device, .n_devices = 1, .set = set};
    cr_assert_eq(tsri_run_create(&options, &context), TSR_OK);
    out->status = tsri_run_load(context, g, &bounds, &source);
    if (out->status == TSR_OK) {
        const tsri_run_binding in[] = {{.id = 0, .data = x, .bytes = sizeof x},
                                       {.id = 1, .data = ids, .bytes = sizeof ids}},
                               got[] = {{.id = 0, .data = out->z, .bytes = sizeof out->z},
                                        {.id = 1, .data = out->g, .bytes = sizeof out->g},
                                        {.id = 2, .data = out->m, .bytes = sizeof out->m}};
        cr_assert_eq(tsri_run_prepare(context, g, &bounds, &plan), TSR_OK, "%s", tsr_error_last());
        cr_assert_eq(tsri_run_execute(plan, sizes, in, 2, got, 3), TSR_OK, "%s", tsr_error_last());
        out->steps = tsri_run_step_count(plan);
        for (size_t i = 0; i < out->steps; i++) {
            int chosen = 0;
            tsri_run_step step;
            cr_assert_eq(tsri_run_step_at(plan, i, &step), TSR_OK);
            cr_expect_eq(step.device, 0, "%s: %s", step.label, step.note);
            cr_expect_eq(tsri_run_step_variants(plan, i, count, &chosen), TSR_OK);
            cr_expect_eq(chosen, 1, "%s %s", step.label, step.op);
        }
    }
    tsri_run_destroy(&context);
    tsri_backend_device_close(&device);
    tsri_backend_set_close(&set);
    tsri_graph_destroy(&g);
}

/* `bound`: how far glu_linear may differ from its decomposition. */
static void same_results(const char *device, float bound) {
    static results whole, parts;
    compute(device, 0, &whole);
    compute(device, MOST, &parts);
    cr_assert(whole.status == TSR_OK && parts.status == TSR_OK, "%s", tsr_error_last());
    cr_expect_arr_eq(whole.z, parts.z, sizeof whole.z);
    for (int i = 0; i < ROWS * F; i++)
        cr_expect(fabsf(whole.g[i] - parts.g[i]) <= bound, "%d: %g, %g", i, (double)whole.g[i],
                  (double)parts.g[i]);
    cr_expect_arr_eq(whole.m, parts.m, sizeof whole.m);
    cr_expect_gt(parts.steps, whole.steps, "glu_linear is decomposed");
}

Test(run_parts, give_what_whole_weights_give) {
    same_results("opencl", 0);
}

Test(run_parts, give_what_whole_weights_give_on_the_reference) {
    same_results("reference", 1e-4f); /* it keeps gate and up in f64 */
}

/* Kernels index by int, so a weight with more elements is split where a buffer could hold it. */
Test(run_parts, have_no_more_elements_than_an_index_counts) {
    const tsr_facts facts = {.struct_size = sizeof facts, .max_allocation = UINT64_C(64) << 30};
    tsr_tensor weight = {.kind = TSR_KIND_WEIGHT, .rank = 2, .dtype = TSR_F16};
    for (int wide = 0; wide < 2; wide++)
        for (int64_t unit = 64; unit <= 6400; unit *= 10) {
            weight.dim[0] = tsri_tensor_const(256000);
            weight.dim[1] = tsri_tensor_const(wide ? 12288 : 7168);
            weight.stride[0] = weight.dim[1];
            weight.stride[1] = tsri_tensor_const(1);
            const int64_t rows = tsri_run_part_rows(&facts, &weight, unit);
            if (wide)
                cr_expect(rows >= 64000 && rows % unit == 0 &&
                              (rows + 63) * 12288 < INT32_MAX / 17 * 16,
                          "%lld", (long long)rows);
            else
                cr_expect_eq(rows, 0);
        }
}

Test(run_parts, a_tile_that_is_too_large_is_refused) {
    static results none;
    compute("reference", 16000, &none);
    cr_expect_eq(none.status, TSR_E_DEVICE_MEMORY);
    cr_expect(strstr(tsr_error_last(), "in one buffer"), "%s", tsr_error_last());
}
