/* Views of the public graph (tessera/graph.h): a weight that several ops read in different shapes, and a
 * mask of attention that is repeated. */
#include "rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Integers, whose products and sums are exact in any order. */
static float whole_number(int64_t i) {
    return (float)(i * 7 % 31 - 15);
}

static tsr_value itself(tsr_graph *g, tsr_value w) {
    (void)g;
    return w;
}

static tsr_value turned(tsr_graph *g, tsr_value w) {
    return tsr_graph_permute(g, w, (uint32_t[]){1, 0});
}

static tsr_value first_rows(tsr_graph *g, tsr_value w) {
    return tsr_graph_slice(g, w, 0, 0, 8);
}

static tsr_value later_rows(tsr_graph *g, tsr_value w) {
    return tsr_graph_slice(g, w, 0, 8, 8);
}

static tsr_value columns(tsr_graph *g, tsr_value w) {
    return tsr_graph_slice(g, w, 1, 16, 16);
}

static tsr_value shorter_rows(tsr_graph *g, tsr_value w) {
    return tsr_graph_reshape(g, w, 2, (int64_t[]){256, 64});
}

/* Element k of output n is number first + n * by_n + k * by_k of the weight [rows, columns]. */
typedef struct viewed {
    const char *name;
    int64_t rows, columns;
    tsr_value (*view)(tsr_graph *g, tsr_value w);
    uint32_t trans;
    int64_t n, k, first, by_n, by_k;
} viewed;

enum { VIEWS = 7, MOST_VIEWED = 64 * 256, X_ROWS = 2, VIEW_OPS = 3 };
static const viewed views[VIEWS] = {
    {"itself", 32, 96, itself, 1, 32, 96, 0, 96, 1},
    {"turned", 96, 32, turned, 0, 96, 32, 0, 32, 1},
    {"turned, by rows", 32, 96, turned, 1, 96, 32, 0, 1, 96},
    {"its first rows", 32, 16, first_rows, 1, 8, 16, 0, 16, 1},
    {"later rows", 32, 16, later_rows, 1, 8, 16, 8 * 16, 16, 1},
    {"columns", 64, 256, columns, 1, 64, 16, 16, 256, 1},
    {"shorter rows", 64, 256, shorter_rows, 1, 256, 64, 0, 64, 1},
};

/* x times the view by matmul and by linear, and times the whole weight. */
static void add_view(tsr_graph *g, const viewed *v, const float *x, const float *w,
                     float y[VIEW_OPS][X_ROWS * 256]) {
    const tsr_matmul_attrs matmul = {.struct_size = sizeof matmul, .trans_b = v->trans, .alpha = 1};
    const tsr_linear_attrs linear = {.struct_size = sizeof linear, .trans_w = v->trans},
                           whole = {.struct_size = sizeof whole, .trans_w = 1};
    const int64_t narrow[] = {X_ROWS, v->k}, wide[] = {X_ROWS, v->columns},
                  dims[] = {v->rows, v->columns};
    const tsr_value weight = tsr_graph_weight(g, v->name, TSR_F32, 2, dims, w),
                    view = v->view(g, weight),
                    some = tsr_graph_input(g, "some", TSR_F32, 2, narrow, x),
                    all = tsr_graph_input(g, "all", TSR_F32, 2, wide, x);
    const size_t bytes = X_ROWS * (size_t)v->n * sizeof(float);
    tsr_graph_output(g, "matmul",
                     tsr_graph_op(g, TSR_OP_MATMUL, &matmul, (tsr_value[]){some, view}, 2), y[0],
                     bytes);
    tsr_graph_output(g, "linear",
                     tsr_graph_op(g, TSR_OP_LINEAR, &linear, (tsr_value[]){some, view}, 2), y[1],
                     bytes);
    tsr_graph_output(g, "whole",
                     tsr_graph_op(g, TSR_OP_LINEAR, &whole, (tsr_value[]){all, weight}, 2), y[2],
                     X_ROWS * (size_t)v->rows * sizeof(float));
}

/* Whether y is x times the n outputs of k elements each, which lie in w as a view says. */
static bool is_product(const float *y, const float *x, const float *w, const viewed *v) {
    bool same = true;
    for (int64_t i = 0; i < X_ROWS * v->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < v->k; k++)
            sum += (double)x[i / v->n * v->k + k] *
                   (double)w[v->first + i % v->n * v->by_n + k * v->by_k];
        same &= (double)y[i] == sum;
    }
    return same;
}

Test(graph_api, a_weight_is_read_by_views_and_whole) {
    static float x[X_ROWS * 256], w[MOST_VIEWED], y[VIEWS][VIEW_OPS][X_ROWS * 256];
    for (int64_t i = 0; i < X_ROWS * 256; i++)
        x[i] = (float)(i % 5 - 2);
    for (int64_t i = 0; i < MOST_VIEWED; i++)
        w[i] = whole_number(i);
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
        for (int i = 0; i < VIEWS; i++)
            add_view(r.graph, &views[i], x, w, y[i]);
        cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
        for (int i = 0; i < VIEWS; i++) {
            const viewed *v = &views[i],
                         whole = {.n = v->rows, .k = v->columns, .by_n = v->columns, .by_k = 1};
            cr_expect(is_product(y[i][0], x, w, v), "matmul, %s, device %zu", v->name, d);
            cr_expect(is_product(y[i][1], x, w, v), "linear, %s, device %zu", v->name, d);
            cr_expect(is_product(y[i][2], x, w, &whole), "whole, %s, device %zu", v->name, d);
        }
        rig_close(&r);
    }
}

/* Blocks of 32 whole numbers, with a scale of 1. */
static void fill_blocks(unsigned char *out, float *numbers, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (i % 32 == 0) {
            *out++ = 0x00;
            *out++ = 0x3c;
        }
        numbers[i] = whole_number(i);
        *out++ = (unsigned char)(signed char)numbers[i];
    }
}

Test(graph_api, views_of_a_weight_in_blocks) {
    enum { N = 32, K = 96, MANY = 8, SOME = 64 };
    static unsigned char blocks[N * K / 32 * 34];
    static float w[N * K], x[X_ROWS * K], y[3][X_ROWS * N], read[N * K];
    const tsr_linear_attrs linear = {.struct_size = sizeof linear, .trans_w = 1};
    const tsr_cast_attrs to_f32 = {.struct_size = sizeof to_f32, .dtype = TSR_F32};
    static const viewed rows = {.n = MANY, .k = K, .first = 8 * K, .by_n = K, .by_k = 1},
                        some = {.n = N, .k = SOME, .first = 32, .by_n = K, .by_k = 1},
                        whole = {.n = N, .k = K, .by_n = K, .by_k = 1};
    fill_blocks(blocks, w, N * K);
    for (int i = 0; i < X_ROWS * K; i++)
        x[i] = (float)(i % 5 - 2);
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
        tsr_graph *g = r.graph;
        const int64_t dims[] = {N, K}, wide[] = {X_ROWS, K}, narrow[] = {X_ROWS, SOME};
        const tsr_value weight = tsr_graph_weight(g, "w", TSR_GGML_Q8_0, 2, dims, blocks),
                        all = tsr_graph_input(g, "all", TSR_F32, 2, wide, x),
                        few = tsr_graph_input(g, "few", TSR_F32, 2, narrow, x);
        const tsr_value products[][2] = {{all, later_rows(g, weight)},
                                         {few, tsr_graph_slice(g, weight, 1, 32, SOME)},
                                         {all, weight}};
        for (int i = 0; i < 3; i++)
            tsr_graph_output(g, "y", tsr_graph_op(g, TSR_OP_LINEAR, &linear, products[i], 2), y[i],
                             X_ROWS * (i ? N : MANY) * sizeof(float));
        tsr_graph_output(g, "read", tsr_graph_op(g, TSR_OP_CAST, &to_f32, &weight, 1), read,
                         sizeof read);
        cr_assert_eq(tsr_graph_run(g), TSR_OK, "%s", tsr_error_last());
        cr_expect(is_product(y[0], x, w, &rows), "rows, device %zu", d);
        cr_expect(is_product(y[1], x, w, &some), "columns, device %zu", d);
        cr_expect(is_product(y[2], x, w, &whole), "whole, device %zu", d);
        cr_expect_arr_eq(read, w, sizeof w);
        rig_close(&r);
    }
}

/* A mask [T,S] for all heads and sequences, which is repeated, does what the same for each does. */
static void repeat_a_mask(const char *device) {
    enum { B = 3, T = 2, S = 3, H = 4, D = 2 };
    static const float mask[T * S] = {0, -3, 1, 2, -1, 0.5f};
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .scale = 1};
    const tsr_value none = TSR_VALUE_NONE;
    float q[B * T * H * D], k[B * S * H * D], each[B * H * T * S], y[2][B * T * H * D];
    for (int i = 0; i < B * H * T * S; i++)
        each[i] = mask[i % (T * S)];
    for (int i = 0; i < B * S * H * D; i++)
        k[i] = whole_number(i) / 16;
    memcpy(q, k, sizeof q);
    for (int repeated = 0; repeated < 2; repeated++) {
        rig r = rig_open(device);
        const tsr_value keys =
                            tsr_graph_input(r.graph, "k", TSR_F32, 4, (int64_t[]){B, S, H, D}, k),
                        queries =
                            tsr_graph_input(r.graph, "q", TSR_F32, 4, (int64_t[]){B, T, H, D}, q),
                        bias =
                            tsr_graph_input(r.graph, "mask", TSR_F32, 4,
                                            (int64_t[]){repeated ? 1 : B, repeated ? 1 : H, T, S},
                                            repeated ? mask : each);
        tsr_graph_output(
            r.graph, "y",
            tsr_graph_op(r.graph, TSR_OP_ATTENTION, &attrs,
                         (tsr_value[]){queries, keys, keys, none, none, none, none, bias}, 8),
            y[repeated], sizeof y[repeated]);
        cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
        rig_close(&r);
    }
    cr_expect_arr_eq(y[1], y[0], sizeof y[0], "%s", device ? device : "the default device");
}

Test(graph_api, a_mask_of_attention_is_repeated_for_heads) {
    for (size_t i = 0; i < RIG_DEVICES; i++)
        repeat_a_mask(rig_devices[i]);
}
