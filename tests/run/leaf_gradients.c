/* Gradients (tessera/graph.h) with respect to leaves of any rank and size, which ops read by views
 * and several times: they are the slopes of the sum, measured by finite differences. */
#include "tessera/graph.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_LEAVES = 4, MOST = 256 };

typedef struct leaf {
    uint32_t rank;
    int64_t dims[4];
} leaf;

/* A function of leaves; NONE where the graph has failed. */
typedef struct function {
    const char *name;
    tsr_value (*of)(tsr_graph *g, const tsr_value *x);
    leaf leaves[MOST_LEAVES];
} function;

static tsr_value op(tsr_graph *g, tsr_op_id id, const void *attrs, tsr_value a, tsr_value b) {
    return tsr_graph_op(g, id, attrs, (tsr_value[]){a, b}, b == TSR_VALUE_NONE ? 1 : 2);
}

static tsr_value add(tsr_graph *g, tsr_value a, tsr_value b) {
    return op(g, TSR_OP_ADD, NULL, a, b);
}

static tsr_value turned(tsr_graph *g, tsr_value x) {
    return tsr_graph_permute(g, x, (uint32_t[]){1, 0});
}

static tsr_value product(tsr_graph *g, tsr_value a, tsr_value b, uint32_t trans_a,
                         uint32_t trans_b) {
    const tsr_matmul_attrs attrs = {
        .struct_size = sizeof attrs, .trans_a = trans_a, .trans_b = trans_b, .alpha = 0.5f};
    return op(g, TSR_OP_MATMUL, &attrs, a, b);
}

static tsr_value linear(tsr_graph *g, const tsr_value *in, uint32_t n, tsr_activation activation) {
    const tsr_linear_attrs attrs = {
        .struct_size = sizeof attrs, .trans_w = 1, .activation = activation};
    return tsr_graph_op(g, TSR_OP_LINEAR, &attrs, in, n);
}

/* ---- functions ---- */

static tsr_value of_linear(tsr_graph *g, const tsr_value *x) {
    return linear(g, x, 3, TSR_ACT_SILU);
}

static tsr_value of_two_linears(tsr_graph *g, const tsr_value *x) {
    return add(g, linear(g, x, 2, TSR_ACT_NONE),
               linear(g, (tsr_value[]){x[0], x[2], TSR_VALUE_NONE, x[0]}, 4, TSR_ACT_NONE));
}

static tsr_value of_matmul(tsr_graph *g, const tsr_value *x) {
    return product(g, x[0], x[1], 0, 0);
}

static tsr_value of_turned_weight(tsr_graph *g, const tsr_value *x) {
    return product(g, x[0], x[1], 0, 1);
}

static tsr_value of_turned_matmul(tsr_graph *g, const tsr_value *x) {
    return product(g, x[0], x[1], 1, 1);
}

/* One leaf as queries, keys and values. */
static tsr_value of_attention_by_hand(tsr_graph *g, const tsr_value *x) {
    const tsr_softmax_attrs softmax = {.struct_size = sizeof softmax};
    return product(g, op(g, TSR_OP_SOFTMAX, &softmax, product(g, x[0], x[0], 0, 1), TSR_VALUE_NONE),
                   x[0], 0, 0);
}

static tsr_value of_square(tsr_graph *g, const tsr_value *x) {
    return product(g, x[0], x[0], 0, 0);
}

static tsr_value of_permuted(tsr_graph *g, const tsr_value *x) {
    return product(g, turned(g, x[0]), turned(g, x[1]), 0, 0);
}

static tsr_value of_plain_and_permuted(tsr_graph *g, const tsr_value *x) {
    return add(g, product(g, x[0], x[1], 0, 0), product(g, x[1], turned(g, x[0]), 0, 0));
}

/* [B,T,2C] as heads [B,2,T,C], times themselves. */
static tsr_value of_heads(tsr_graph *g, const tsr_value *x) {
    const tsr_value heads = tsr_graph_permute(
        g, tsr_graph_reshape(g, x[0], 4, (int64_t[]){3, 5, 2, 2}), (uint32_t[]){0, 2, 1, 3});
    return product(g, heads, tsr_graph_permute(g, heads, (uint32_t[]){0, 1, 3, 2}), 0, 0);
}

/* All columns, in three parts, one of which is read twice; and all of it. */
static tsr_value of_columns(tsr_graph *g, const tsr_value *x) {
    const tsr_value a = tsr_graph_slice(g, x[0], 1, 0, 2), b = tsr_graph_slice(g, x[0], 1, 2, 2),
                    c = tsr_graph_slice(g, x[0], 1, 4, 2),
                    y = op(g, TSR_OP_MUL, NULL, op(g, TSR_OP_MUL, NULL, a, b), c);
    return add(g, add(g, y, op(g, TSR_OP_TANH, NULL, b, TSR_VALUE_NONE)),
               product(g, x[0], x[1], 0, 0));
}

/* The weight [1,N] is its own bias [N]. */
static tsr_value of_weight_and_bias(tsr_graph *g, const tsr_value *x) {
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs};
    const tsr_value in[] = {x[0], x[1], tsr_graph_reshape(g, x[1], 1, (int64_t[]){7})};
    return tsr_graph_op(g, TSR_OP_LINEAR, &attrs, in, 3);
}

static tsr_value of_norm_by_itself(tsr_graph *g, const tsr_value *x) {
    const tsr_norm_attrs attrs = {.struct_size = sizeof attrs, .eps = 0.1f};
    return tsr_graph_op(g, TSR_OP_LAYER_NORM, &attrs, (tsr_value[]){x[0], x[0], x[0]}, 3);
}

static tsr_value of_norm(tsr_graph *g, const tsr_value *x) {
    const tsr_norm_attrs attrs = {.struct_size = sizeof attrs, .eps = 0.1f};
    return tsr_graph_op(g, TSR_OP_LAYER_NORM, &attrs, x, 3);
}

static tsr_value of_tanh(tsr_graph *g, const tsr_value *x) {
    return op(g, TSR_OP_TANH, NULL, x[0], TSR_VALUE_NONE);
}

static tsr_value of_permuted_tanh(tsr_graph *g, const tsr_value *x) {
    return turned(g, op(g, TSR_OP_TANH, NULL, turned(g, x[0]), TSR_VALUE_NONE));
}

static tsr_value of_no_column(tsr_graph *g, const tsr_value *x) {
    return op(g, TSR_OP_TANH, NULL, tsr_graph_slice(g, x[0], 1, 2, 0), TSR_VALUE_NONE);
}

/* No column of the leaf and of a computed value, and all columns of both. */
static tsr_value of_no_column_and_all(tsr_graph *g, const tsr_value *x) {
    const tsr_value y = of_tanh(g, x), in[] = {of_no_column(g, x), y, of_no_column(g, &y), x[0]};
    return tsr_graph_op(g, TSR_OP_CONCAT, NULL, in, 4);
}

static tsr_value of_attention(tsr_graph *g, const tsr_value *x) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .scale = 0.7f};
    tsr_value out[2];
    tsr_graph_op_outputs(g, TSR_OP_ATTENTION, &attrs, x, 3, 2, out, 2);
    return out[0];
}

static tsr_value of_additive_attention(tsr_graph *g, const tsr_value *x) {
    tsr_value out[2];
    tsr_graph_op_outputs(g, TSR_OP_ADDITIVE_ATTENTION, NULL, x, 4, 2, out, 2);
    return out[0];
}

static tsr_value of_gru(tsr_graph *g, const tsr_value *x) {
    const tsr_gru_cell_attrs attrs = {.struct_size = sizeof attrs};
    return tsr_graph_op(g, TSR_OP_GRU_CELL, &attrs, x, 4);
}

/* The rows of a table at these ids: two sequences of three, and of none. */
static tsr_value embedded(tsr_graph *g, const tsr_value *x, int64_t T) {
    static const int32_t ids[] = {3, 0, 3, 1, 3, 0};
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs, .scale = 2};
    return op(g, TSR_OP_EMBED, &attrs, x[0],
              tsr_graph_input(g, "ids", TSR_I32, 2, (int64_t[]){2, T}, ids));
}

static tsr_value of_rows(tsr_graph *g, const tsr_value *x) {
    return embedded(g, x, 3);
}

static tsr_value of_no_rows(tsr_graph *g, const tsr_value *x) {
    return embedded(g, x, 0);
}

static const function of_any_rank[] = {
    {"linear, x of rank 1", of_linear, {{1, {5}}, {2, {4, 5}}, {1, {4}}}},
    {"linear, x of rank 2", of_linear, {{2, {3, 5}}, {2, {4, 5}}, {1, {4}}}},
    {"linear, x of rank 3", of_linear, {{3, {2, 3, 5}}, {2, {4, 5}}, {1, {4}}}},
    {"linear, x of rank 4", of_linear, {{4, {2, 1, 3, 5}}, {2, {4, 5}}, {1, {4}}}},
    {"two linears of a leaf", of_two_linears, {{3, {2, 3, 5}}, {2, {5, 5}}, {2, {5, 5}}}},
    {"matmul", of_matmul, {{3, {2, 3, 5}}, {3, {2, 5, 7}}}},
    {"matmul of ones", of_matmul, {{3, {1, 1, 1}}, {3, {1, 1, 1}}}},
    {"matmul of rank 4", of_matmul, {{4, {2, 1, 3, 2}}, {4, {2, 1, 2, 5}}}},
    {"matmul, turned", of_turned_matmul, {{3, {2, 5, 3}}, {3, {2, 7, 5}}}},
    {"matmul by one matrix", of_matmul, {{3, {2, 3, 5}}, {2, {5, 7}}}},
    {"matmul by one matrix, of rank 3", of_matmul, {{4, {2, 1, 3, 5}}, {3, {1, 5, 7}}}},
    {"matmul by one turned matrix", of_turned_weight, {{3, {2, 3, 5}}, {2, {7, 5}}}},
    {"a matrix times itself", of_square, {{2, {3, 3}}}},
    {"matrices times themselves", of_square, {{3, {2, 3, 3}}}},
    {"attention by hand", of_attention_by_hand, {{3, {2, 3, 5}}}},
    {"attention by hand, of one", of_attention_by_hand, {{3, {1, 1, 1}}}},
};

static const function of_views[] = {
    {"permuted", of_permuted, {{2, {5, 3}}, {2, {7, 5}}}},
    {"permuted, one row", of_permuted, {{2, {5, 1}}, {2, {1, 5}}}},
    {"plain and permuted", of_plain_and_permuted, {{2, {3, 3}}, {2, {3, 3}}}},
    {"heads", of_heads, {{3, {3, 5, 4}}}},
    {"columns", of_columns, {{2, {3, 6}}, {2, {6, 2}}}},
    {"weight and bias", of_weight_and_bias, {{2, {3, 1}}, {2, {1, 7}}}},
    {"a norm by itself", of_norm_by_itself, {{1, {5}}}},
    {"permuted tanh", of_permuted_tanh, {{2, {5, 3}}}},
};

static const function of_empty[] = {
    {"tanh [0,3]", of_tanh, {{2, {0, 3}}}},
    {"tanh [3,0]", of_tanh, {{2, {3, 0}}}},
    {"tanh [0,0]", of_tanh, {{2, {0, 0}}}},
    {"tanh [3,0,5]", of_tanh, {{3, {3, 0, 5}}}},
    {"tanh [3,5,0]", of_tanh, {{3, {3, 5, 0}}}},
    {"tanh [2,3,0,4]", of_tanh, {{4, {2, 3, 0, 4}}}},
    {"permuted [3,0]", of_permuted_tanh, {{2, {3, 0}}}},
    {"no column", of_no_column, {{2, {4, 7}}}},
    {"no column, and all", of_no_column_and_all, {{2, {4, 7}}}},
    {"norm, no rows", of_norm, {{3, {3, 0, 5}}, {1, {5}}, {1, {5}}}},
    {"linear, N = 0", of_linear, {{2, {3, 5}}, {2, {0, 5}}, {1, {0}}}},
    {"linear, K = 0", of_linear, {{3, {2, 3, 0}}, {2, {4, 0}}, {1, {4}}}},
    {"matmul, no sequences", of_matmul, {{3, {0, 3, 5}}, {3, {0, 5, 7}}}},
    {"matmul, N = 0", of_matmul, {{3, {2, 3, 5}}, {3, {2, 5, 0}}}},
    {"matmul, K = 0", of_matmul, {{3, {2, 3, 0}}, {3, {2, 0, 7}}}},
    {"attention, T = 0", of_attention, {{4, {2, 0, 2, 4}}, {4, {2, 5, 2, 4}}, {4, {2, 5, 2, 3}}}},
    {"attention, Dv = 0", of_attention, {{4, {1, 3, 2, 4}}, {4, {1, 3, 2, 4}}, {4, {1, 3, 2, 0}}}},
    {"additive attention, E = 0",
     of_additive_attention,
     {{3, {2, 3, 2}}, {3, {2, 5, 2}}, {1, {2}}, {3, {2, 5, 0}}}},
    {"gru, T = 0", of_gru, {{3, {2, 0, 9}}, {2, {2, 3}}, {2, {9, 3}}, {1, {9}}}},
    {"rows, C = 0", of_rows, {{2, {7, 0}}}},
    {"no rows", of_no_rows, {{2, {7, 5}}}},
};

/* ---- the check ---- */

typedef struct run {
    tsr_graph *graph;
    int64_t count[MOST_LEAVES], n_y;
    uint32_t n;
    float x[MOST_LEAVES][MOST], d[MOST_LEAVES][MOST], seed[MOST], y[MOST];
} run;

static int64_t count_of(uint32_t rank, const int64_t *dims) {
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    cr_assert(count <= MOST);
    return count;
}

/* Leaves are inputs, whose numbers can change from run to run. */
static void build(run *r, const function *f) {
    tsr_value x[MOST_LEAVES], d[MOST_LEAVES];
    uint32_t rank;
    int64_t dims[TSR_MAX_RANK];
    for (r->n = 0; r->n < MOST_LEAVES && f->leaves[r->n].rank; r->n++) {
        const uint32_t i = r->n;
        const leaf *l = &f->leaves[i];
        r->count[i] = count_of(l->rank, l->dims);
        for (int64_t k = 0; k < r->count[i]; k++)
            r->x[i][k] = 0.8f * sinf((float)(k * 7 + i * 31 + 1));
        x[i] = tsr_graph_input(r->graph, "leaf", TSR_F32, l->rank, l->dims, r->x[i]);
    }
    const tsr_value y = f->of(r->graph, x);
    cr_assert_eq(tsr_graph_shape(r->graph, y, &rank, dims), TSR_OK, "%s: %s", f->name,
                 tsr_error_last());
    r->n_y = count_of(rank, dims);
    for (int64_t k = 0; k < r->n_y; k++)
        r->seed[k] = cosf((float)(k * 5));
    const tsr_value seed = tsr_graph_input(r->graph, "seed", TSR_F32, rank, dims, r->seed);
    tsr_graph_gradients(r->graph, x, r->n, &y, &seed, 1, d);
    cr_assert_eq(tsr_graph_status(r->graph), TSR_OK, "%s: %s", f->name, tsr_error_last());
    tsr_graph_output(r->graph, "y", y, r->y, (size_t)r->n_y * sizeof *r->y);
    for (uint32_t i = 0; i < r->n; i++)
        tsr_graph_output(r->graph, "d", d[i], r->d[i], (size_t)r->count[i] * sizeof **r->d);
}

static double sum_of(run *r, const char *name) {
    double sum = 0;
    cr_assert_eq(tsr_graph_run(r->graph), TSR_OK, "%s: %s", name, tsr_error_last());
    for (int64_t k = 0; k < r->n_y; k++)
        sum += (double)r->seed[k] * (double)r->y[k];
    return sum;
}

static void compare(run *r, const char *name) {
    const float h = 1e-2f;
    float got[MOST_LEAVES][MOST];
    memset(r->d, 0xff, sizeof r->d); /* NaNs */
    sum_of(r, name);
    memcpy(got, r->d, sizeof got);
    for (uint32_t i = 0; i < r->n; i++)
        for (int64_t k = 0; k < r->count[i]; k++) {
            const float kept = r->x[i][k];
            double sums[2];
            for (int side = 0; side < 2; side++) {
                r->x[i][k] = side ? kept + h : kept - h;
                sums[side] = sum_of(r, name);
            }
            r->x[i][k] = kept;
            const double slope = (sums[1] - sums[0]) / (2 * (double)h);
            cr_expect_float_eq((double)got[i][k], slope, 5e-4, "%s: gradient %u[%d]: %g, slope %g",
                               name, i, (int)k, (double)got[i][k], slope);
        }
}

static void check(const function *functions, size_t n) {
    static const char *const devices[] = {"reference", NULL};
    for (size_t d = 0; d < 2; d++) {
        tsr_engine *engine = NULL;
        tsr_device *device = NULL;
        cr_assert_eq(tsr_engine_create(NULL, &engine), TSR_OK, "%s", tsr_error_last());
        cr_assert_eq(tsr_device_open(engine, devices[d], NULL, &device), TSR_OK, "%s",
                     tsr_error_last());
        for (size_t i = 0; i < n; i++) {
            run r = {0};
            cr_assert_eq(tsr_graph_create(device, &r.graph), TSR_OK, "%s", tsr_error_last());
            build(&r, &functions[i]);
            compare(&r, functions[i].name);
            tsr_graph_destroy(&r.graph);
        }
        tsr_device_close(&device);
        tsr_engine_destroy(&engine);
    }
}

Test(leaf_gradients, of_any_rank) {
    check(of_any_rank, sizeof of_any_rank / sizeof *of_any_rank);
}

Test(leaf_gradients, of_views) {
    check(of_views, sizeof of_views / sizeof *of_views);
}

Test(leaf_gradients, of_sizes_of_zero) {
    check(of_empty, sizeof of_empty / sizeof *of_empty);
}

/* What is read of a leaf must be all of it; the sentence names the leaf. */
Test(leaf_gradients, of_a_part_are_refused) {
    static const float data[24] = {0};
    static const struct {
        uint32_t rows; /* so many of three */
        const char *says;
    } parts[] = {{3, "w: the gradient of columns is supported only where each column is read "
                     "exactly once"},
                 {2, "w: the gradient of a view is supported only where it covers the whole"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tsr_engine *engine = NULL;
        tsr_device *device = NULL;
        tsr_graph *g = NULL;
        tsr_value d;
        uint32_t rank;
        int64_t dims[TSR_MAX_RANK];
        cr_assert_eq(tsr_engine_create(NULL, &engine), TSR_OK, "%s", tsr_error_last());
        cr_assert_eq(tsr_device_open(engine, "reference", NULL, &device), TSR_OK, "%s",
                     tsr_error_last());
        cr_assert_eq(tsr_graph_create(device, &g), TSR_OK, "%s", tsr_error_last());
        const tsr_value w = tsr_graph_weight(g, "w", TSR_F32, 3, (int64_t[]){2, 3, 4}, data),
                        rows = tsr_graph_slice(g, w, 1, 0, parts[i].rows),
                        y = op(g, TSR_OP_TANH, NULL, tsr_graph_slice(g, rows, 2, 0, 2),
                               TSR_VALUE_NONE);
        cr_assert_eq(tsr_graph_shape(g, y, &rank, dims), TSR_OK, "%s", tsr_error_last());
        const tsr_value seed = tsr_graph_input(g, "seed", TSR_F32, rank, dims, data);
        tsr_graph_gradients(g, &w, 1, &y, &seed, 1, &d);
        cr_expect_eq(tsr_graph_status(g), TSR_E_UNSUPPORTED);
        cr_expect(strstr(tsr_error_last(), parts[i].says), "%s", tsr_error_last());
        tsr_graph_destroy(&g);
        tsr_device_close(&device);
        tsr_engine_destroy(&engine);
    }
}
