/* Products with a norm or a residual (graph/join_norms.c) give the same bytes on the reference as
 * the ops apart. So a model's output does not depend on where it is divided among devices or
 * ranks. */
#include "tessera/graph.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ROWS = 5, WIDTH = 64, BLOCK = 32, BLOCK_BYTES = 34 };

/* s = act(a w0) + x, then z = norm(s) w1, which may be gated. */
typedef struct form {
    const char *name;
    tsr_activation activation;
    bool gated, blocks; /* blocks: weights of q8_0, and products of integers */
} form;

typedef struct rig {
    tsr_engine *engine;
    tsr_device *device;
    tsr_graph *graph;
    tsr_value x, a, gain, w[2];
    float sum[ROWS * WIDTH], z[ROWS * WIDTH]; /* results */
} rig;

static float numbers[5][WIDTH * WIDTH];
static unsigned char blocks[2][WIDTH * WIDTH / BLOCK * BLOCK_BYTES];

static void fill(void) {
    static const unsigned char scale[2] = {0x00, 0x1c}; /* 2^-8 in f16 */
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < WIDTH * WIDTH; k++)
            numbers[i][k] = sinf((float)(k * 7 + i * 1000)) / (i < 3 ? 1 : 8);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof blocks[i]; k++)
            blocks[i][k] = k % BLOCK_BYTES < 2 ? scale[k % BLOCK_BYTES]
                                               : (unsigned char)((k * 37 + (size_t)i * 11) % 255);
}

static void open_rig(rig *r, const form *f) {
    const int64_t rows[] = {ROWS, WIDTH}, square[] = {WIDTH, WIDTH};
    memset(r, 0, sizeof *r);
    cr_assert_eq(tsr_engine_create(NULL, &r->engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(r->engine, "reference", NULL, &r->device), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsr_graph_create(r->device, &r->graph), TSR_OK, "%s", tsr_error_last());
    fill();
    r->x = tsr_graph_input(r->graph, "x", TSR_F32, 2, rows, numbers[0]);
    r->a = tsr_graph_input(r->graph, "a", TSR_F32, 2, rows, numbers[1]);
    r->gain = tsr_graph_weight(r->graph, "gain", TSR_F32, 1, square, numbers[2]);
    for (int i = 0; i < 2; i++)
        r->w[i] = tsr_graph_weight(r->graph, i ? "w1" : "w0", f->blocks ? TSR_GGML_Q8_0 : TSR_F32,
                                   2, square, f->blocks ? (const void *)blocks[i] : numbers[3 + i]);
}

static void close_rig(rig *r) {
    tsr_graph_destroy(&r->graph);
    tsr_device_close(&r->device);
    tsr_engine_destroy(&r->engine);
}

/* The second product, of x, which it norms itself where a gain is given. */
static tsr_value second(const rig *r, const form *f, tsr_value x, tsr_value gain) {
    const uint32_t compute = f->blocks ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32;
    const tsr_linear_attrs linear = {
        .struct_size = sizeof linear, .trans_w = 1, .compute = compute, .norm_eps = 1e-5f};
    const tsr_glu_linear_attrs gated = {.struct_size = sizeof gated,
                                        .trans_w = 1,
                                        .activation = TSR_ACT_SILU,
                                        .compute = compute,
                                        .norm_eps = 1e-5f};
    const tsr_value none = TSR_VALUE_NONE, of_linear[] = {x, r->w[1], none, none, gain},
                    of_gated[] = {x, r->w[1], none, gain};
    return f->gated ? tsr_graph_op(r->graph, TSR_OP_GLU_LINEAR, &gated, of_gated, 4)
                    : tsr_graph_op(r->graph, TSR_OP_LINEAR, &linear, of_linear, 5);
}

static void run_form(rig *r, const form *f, bool joined) {
    const tsr_linear_attrs first = {.struct_size = sizeof first,
                                    .trans_w = 1,
                                    .activation = f->activation,
                                    .compute = f->blocks ? TSR_COMPUTE_INT8 : TSR_COMPUTE_F32};
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = TSR_NORM_RMS, .eps = 1e-5f};
    float product[ROWS * WIDTH], normed[ROWS * WIDTH];
    tsr_value sum, z, out[2];
    open_rig(r, f);
    if (joined) {
        sum = tsr_graph_op(r->graph, TSR_OP_LINEAR, &first,
                           (tsr_value[]){r->a, r->w[0], TSR_VALUE_NONE, r->x}, 4);
        z = second(r, f, sum, r->gain);
    } else { /* outputs for the host stay values of their own */
        const tsr_value p =
            tsr_graph_op(r->graph, TSR_OP_LINEAR, &first, (tsr_value[]){r->a, r->w[0]}, 2);
        tsr_graph_op_outputs(r->graph, TSR_OP_ADD_NORM, &norm, (tsr_value[]){p, r->x, r->gain}, 3,
                             3, out, 2);
        tsr_graph_output(r->graph, "product", p, product, sizeof product);
        tsr_graph_output(r->graph, "normed", out[1], normed, sizeof normed);
        sum = out[0];
        z = second(r, f, out[1], TSR_VALUE_NONE);
    }
    tsr_graph_output(r->graph, "sum", sum, r->sum, sizeof r->sum);
    tsr_graph_output(r->graph, "z", z, r->z, sizeof r->z / (f->gated ? 2 : 1));
    cr_assert_eq(tsr_graph_run(r->graph), TSR_OK, "%s: %s", f->name, tsr_error_last());
}

Test(joined, products_have_the_bytes_of_the_ops_apart) {
    static const form forms[] = {{"linear", TSR_ACT_NONE, false, false},
                                 {"glu_linear", TSR_ACT_NONE, true, false},
                                 {"linear, gelu", TSR_ACT_GELU, false, false},
                                 {"linear, int8", TSR_ACT_NONE, false, true},
                                 {"glu_linear, int8", TSR_ACT_SILU, true, true}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        static rig joined, apart;
        run_form(&joined, &forms[i], true);
        run_form(&apart, &forms[i], false);
        cr_expect_arr_eq(joined.sum, apart.sum, sizeof joined.sum, "%s: the sum", forms[i].name);
        cr_expect_arr_eq(joined.z, apart.z, sizeof joined.z, "%s: the product", forms[i].name);
        cr_expect(apart.sum[1] != apart.sum[2] && apart.z[1] != apart.z[2], "%s", forms[i].name);
        close_rig(&joined);
        close_rig(&apart);
    }
}
