/* The public graph (tessera/graph.h): what is built runs, on the reference and on the default
 * device, and what can't be built is told in one sentence. */
#include "rig.h"

#include <criterion/criterion.h>
#include <string.h>

Test(graph_api, what_is_built_runs_as_often_as_wanted) {
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
        float x[2][3] = {{1, -2, 3}, {-4, 5, 6}}, w[3][2] = {{1, 0}, {0, 1}, {2, -1}};
        float y[2][2], turned[3][2], middle[2][1], same[2][3];
        int32_t best[2], ids[2][2];
        const tsr_linear_attrs linear = {.struct_size = sizeof linear};
        const tsr_topk_attrs topk = {.struct_size = sizeof topk, .k = 2};
        const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 2, (int64_t[]){2, 3}, x),
                        weight = tsr_graph_weight(r.graph, "w", TSR_F32, 2, (int64_t[]){3, 2}, w);
        tsr_value top[3];
        tsr_graph_output(
            r.graph, "y",
            tsr_graph_op(r.graph, TSR_OP_LINEAR, &linear, (tsr_value[]){in, weight}, 2), y,
            sizeof y);
        tsr_graph_output(r.graph, "turned", tsr_graph_permute(r.graph, in, (uint32_t[]){1, 0}),
                         turned, sizeof turned);
        tsr_graph_output(r.graph, "middle",
                         tsr_graph_slice(r.graph, rig_unary(r.graph, TSR_OP_RELU, in), 1, 1, 1),
                         middle, sizeof middle);
        tsr_graph_output(r.graph, "same", in, same, sizeof same);
        tsr_graph_output(r.graph, "best", rig_unary(r.graph, TSR_OP_ARGMAX, in), best, sizeof best);
        tsr_graph_op_outputs(r.graph, TSR_OP_TOPK, &topk, &in, 1, 0, top, 3);
        cr_assert_eq(top[2], TSR_VALUE_NONE, "nobody asked for the log of the sum");
        tsr_graph_output(r.graph, "ids", top[1], ids, sizeof ids);
        for (int run = 0; run < 3; run++) {
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
            for (int i = 0; i < 2; i++) {
                int most = 0;
                for (int j = 0; j < 3; j++) {
                    most = x[i][j] > x[i][most] ? j : most;
                    cr_assert_eq(turned[j][i], x[i][j]);
                    cr_assert_eq(same[i][j], x[i][j]);
                }
                cr_assert_eq(y[i][0], x[i][0] + 2 * x[i][2]);
                cr_assert_eq(y[i][1], x[i][1] - x[i][2]);
                cr_assert_eq(middle[i][0], x[i][1] > 0 ? x[i][1] : 0);
                cr_assert_eq(best[i], most);
                cr_assert_eq(ids[i][0], most);
            }
            x[run % 2][run] += 10; /* the next run reads it */
        }
        rig_close(&r);
    }
}

Test(graph_api, a_state_lives_from_run_to_run) {
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
        enum { CAPACITY = 4, D = 2 };
        float x[D] = {1, 2}, kept[CAPACITY][D];
        int32_t past = 0, len = 1;
        const tsr_value state = tsr_graph_state(r.graph, "state", TSR_F32, 4,
                                                (int64_t[]){1, 1, CAPACITY, D}),
                        in = tsr_graph_input(r.graph, "x", TSR_F32, 4, (int64_t[]){1, 1, 1, D}, x),
                        p = tsr_graph_input(r.graph, "past", TSR_I32, 1, (int64_t[]){1}, &past),
                        l = tsr_graph_input(r.graph, "len", TSR_I32, 1, (int64_t[]){1}, &len);
        cr_assert_eq(
            tsr_graph_op(r.graph, TSR_OP_KV_APPEND, NULL, (tsr_value[]){state, in, p, l}, 4),
            TSR_VALUE_NONE);
        tsr_graph_output(r.graph, "kept", state, kept, sizeof kept);
        for (; past < CAPACITY; past++, len++) {
            x[0] = (float)past + 1;
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
            for (int i = 0; i < CAPACITY; i++)
                cr_assert_eq(kept[i][0], i <= past ? (float)i + 1 : 0, "%d after %d", i, past);
        }
        rig_close(&r);
    }
}

/* qkv_append writes its states whether or not its rotated queries are read; without queries it has
 * none. */
Test(graph_api, rotated_queries_are_there_where_queries_are) {
    enum { CAPACITY = 2, D = 2 };
    const tsr_rope_attrs rope = {.struct_size = sizeof rope, .rotary = D};
    const int64_t shape[] = {1, 1, CAPACITY, D}, one[] = {1, 1};
    static const float k[D] = {1, 2}, v[D] = {3, 4}, q[D] = {5, 6}, frequency[1] = {1};
    static const int32_t zero[1] = {0}, length[1] = {1};
    for (size_t d = 0; d < RIG_DEVICES; d++)
        for (int queries = 0; queries < 2; queries++) {
            rig r = rig_open(rig_devices[d]);
            tsr_graph *g = r.graph;
            float keys[CAPACITY][D], values[CAPACITY][D], rotated[D] = {0};
            tsr_value y;
            const tsr_value in[] = {
                tsr_graph_state(g, "keys", TSR_F32, 4, shape),
                tsr_graph_state(g, "values", TSR_F32, 4, shape),
                tsr_graph_input(g, "k", TSR_F32, 4, (int64_t[]){1, 1, 1, D}, k),
                tsr_graph_input(g, "v", TSR_F32, 4, (int64_t[]){1, 1, 1, D}, v),
                tsr_graph_input(g, "past", TSR_I32, 1, one, zero),
                tsr_graph_input(g, "len", TSR_I32, 1, one, length),
                TSR_VALUE_NONE,
                queries ? tsr_graph_input(g, "q", TSR_F32, 4, (int64_t[]){1, 1, 1, D}, q)
                        : TSR_VALUE_NONE,
                queries ? tsr_graph_input(g, "at", TSR_I32, 2, one, zero) : TSR_VALUE_NONE,
                queries ? tsr_graph_input(g, "f", TSR_F32, 1, one, frequency) : TSR_VALUE_NONE};
            if (queries)
                y = tsr_graph_op(g, TSR_OP_QKV_APPEND, &rope, in, 10);
            else
                tsr_graph_op_outputs(g, TSR_OP_QKV_APPEND, &rope, in, 10, 1, &y, 1);
            cr_assert_eq(y != TSR_VALUE_NONE, queries);
            tsr_graph_output(g, "keys", in[0], keys, sizeof keys);
            tsr_graph_output(g, "values", in[1], values, sizeof values);
            if (queries)
                tsr_graph_output(g, "y", y, rotated, sizeof rotated);
            cr_assert_eq(tsr_graph_run(g), TSR_OK, "%s", tsr_error_last());
            for (int i = 0; i < D; i++) { /* at position 0 nothing turns */
                cr_expect_eq(keys[0][i], k[i]);
                cr_expect_eq(values[0][i], v[i]);
                cr_expect_eq(rotated[i], queries ? q[i] : 0);
            }
            rig_close(&r);
        }
}

Test(graph_api, sizes_of_zero_and_one) {
    rig r = rig_open(NULL);
    float one = -3, result = 0;
    const tsr_value none = tsr_graph_input(r.graph, "none", TSR_F32, 2, (int64_t[]){0, 5}, NULL),
                    x = tsr_graph_input(r.graph, "one", TSR_F32, 1, (int64_t[]){1}, &one);
    tsr_graph_output(r.graph, "nothing", rig_unary(r.graph, TSR_OP_RELU, none), NULL, 0);
    tsr_graph_output(r.graph, "tanh", rig_unary(r.graph, TSR_OP_RELU, x), &result, sizeof result);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(result, 0);
    uint32_t rank;
    int64_t dims[TSR_MAX_RANK];
    cr_assert_eq(tsr_graph_shape(r.graph, none, &rank, dims), TSR_OK);
    cr_assert(rank == 2 && dims[0] == 0 && dims[1] == 5);
    cr_assert_eq(tsr_graph_shape(r.graph, 99, &rank, dims), TSR_E_ARGUMENT);
    rig_close(&r);
}

Test(graph_api, rows_of_outputs_of_any_dtype) {
    static const float x[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    static const uint16_t wanted[2][2] = {{0x4200, 0x4400}, {0x4500, 0x4600}}; /* 3 4 5 6 */
    static const int64_t rows[4][2] = {{1, -2}, {3, -4}, {5, -6}, {7, -8}};
    static const int32_t index[4] = {3, 2, 1, 0};
    const tsr_cast_attrs halves = {.struct_size = sizeof halves, .dtype = TSR_F16};
    const int64_t dims[] = {4, 2};
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
        uint16_t cast[2][2];
        int64_t gathered[2][2];
        const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, x),
                        y = tsr_graph_op(r.graph, TSR_OP_CAST, &halves, &in, 1),
                        table = tsr_graph_input(r.graph, "table", TSR_I64, 2, dims, rows),
                        order =
                            tsr_graph_input(r.graph, "index", TSR_I32, 1, (int64_t[]){4}, index),
                        z = tsr_graph_op(r.graph, TSR_OP_GATHER, NULL, (tsr_value[]){table, order},
                                         2);
        tsr_graph_output(r.graph, "cast", tsr_graph_slice(r.graph, y, 0, 1, 2), cast, sizeof cast);
        tsr_graph_output(r.graph, "gathered", tsr_graph_slice(r.graph, z, 0, 1, 2), gathered,
                         sizeof gathered);
        cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
        cr_expect_arr_eq(cast, wanted, sizeof wanted);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++)
                cr_expect_eq(gathered[i][k], rows[2 - i][k]);
        rig_close(&r);
    }
}

Test(graph_api, attributes_of_another_version) {
    struct newer {
        tsr_scale_attrs known;
        uint32_t unknown;
    } attrs = {.known = {.struct_size = sizeof attrs, .alpha = 2}};
    struct older {
        uint32_t struct_size;
    } old = {.struct_size = sizeof old};
    float x = 3, y = 0;
    rig r = rig_open("reference");
    const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x);
    tsr_graph_output(r.graph, "y", tsr_graph_op(r.graph, TSR_OP_SCALE, &attrs, &in, 1), &y,
                     sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(y, 6);
    rig_close(&r);
    r = rig_open("reference");
    const tsr_value same = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x);
    tsr_graph_output(r.graph, "y", tsr_graph_op(r.graph, TSR_OP_SCALE, &old, &same, 1), &y,
                     sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(y, 0, "alpha is 0 where it is not given");
    attrs.unknown = 1;
    rig_close(&r);
    r = rig_open("reference");
    tsr_graph_op(r.graph, TSR_OP_SCALE, &attrs,
                 (tsr_value[]){tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x)}, 1);
    rig_refused(&r, TSR_E_UNSUPPORTED, "newer field");
    rig_close(&r);
}

Test(graph_api, what_cannot_be_built_is_told_once_and_stays) {
    float x[6] = {0};
    unsigned char blocks[34] = {0};
    const int64_t dims[] = {2, 3}, negative[] = {2, -3}, huge[] = {1 << 16, 1 << 16},
                  many[] = {1 << 16, 1};
    const tsr_matmul_attrs turned = {.struct_size = sizeof turned, .trans_b = 1};
    rig r = rig_open("reference");
#define INPUT tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, x)
    tsr_graph_input(r.graph, "x", TSR_F32, 2, negative, x);
    rig_refused(&r, TSR_E_ARGUMENT, "x: a shape must have");
    tsr_graph_input(r.graph, "x", TSR_F32, 2, huge, x);
    rig_refused(&r, TSR_E_ARGUMENT, "2^31 - 1 elements");
    tsr_graph_input(r.graph, "x", TSR_F32, 7, dims, x);
    rig_refused(&r, TSR_E_ARGUMENT, "at most 6 sizes");
    tsr_graph_input(r.graph, "x", (tsr_dtype)99, 2, dims, x);
    rig_refused(&r, TSR_E_ARGUMENT, "x: ");
    tsr_graph_weight(r.graph, "w", TSR_GGML_Q8_0, 2, dims, x);
    rig_refused(&r, TSR_E_ARGUMENT, "of dtype q8_0");
    tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, NULL);
    rig_refused(&r, TSR_E_ARGUMENT, "input x: data is NULL; give an array of 24 bytes");
    tsr_graph_weight(r.graph, "w", TSR_F32, 2, dims, NULL);
    rig_refused(&r, TSR_E_ARGUMENT, "weight w: data is NULL");
    tsr_graph_output(r.graph, "y", INPUT, NULL, sizeof x);
    rig_refused(&r, TSR_E_ARGUMENT, "output y: data is NULL");
    tsr_graph_state(r.graph, "s", TSR_F32, 0, dims);
    rig_refused(&r, TSR_E_ARGUMENT, "a state has 1 to 4");
    tsr_graph_op(r.graph, TSR_OP_RELU, NULL, (tsr_value[]){5}, 1);
    rig_refused(&r, TSR_E_ARGUMENT, "relu: this graph has no value 5");
    tsr_graph_op(r.graph, (tsr_op_id)9999, NULL, (tsr_value[]){INPUT}, 1);
    rig_refused(&r, TSR_E_UNSUPPORTED, "op 9999");
    tsr_graph_op(r.graph, TSR_OP_MATMUL, NULL, (tsr_value[]){INPUT, INPUT}, 2);
    rig_refused(&r, TSR_E_ARGUMENT, "no attributes");
    tsr_graph_op(r.graph, TSR_OP_RELU, NULL, (tsr_value[]){INPUT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                 12);
    rig_refused(&r, TSR_E_ARGUMENT, "12 operands");
    const tsr_value tall = tsr_graph_input(r.graph, "tall", TSR_F32, 2, many, x);
    cr_assert_eq(tsr_graph_op(r.graph, TSR_OP_MATMUL, &turned, (tsr_value[]){tall, tall}, 2),
                 TSR_VALUE_NONE);
    rig_refused(&r, TSR_E_UNSUPPORTED, "matmul: its result would have more than 2^31 - 1");
    tsr_graph_reshape(r.graph, INPUT, 1, (int64_t[]){7});
    rig_refused(&r, TSR_E_ARGUMENT, "reshape");
    tsr_graph_permute(r.graph, INPUT, (uint32_t[]){0, 0});
    rig_refused(&r, TSR_E_ARGUMENT, "permute");
    tsr_graph_slice(r.graph, INPUT, 1, 2, 2);
    rig_refused(&r, TSR_E_ARGUMENT, "slice");
    tsr_graph_output(r.graph, "w",
                     tsr_graph_weight(r.graph, "w", TSR_GGML_Q8_0, 1, (int64_t[]){32}, blocks),
                     blocks, sizeof blocks);
    rig_refused(&r, TSR_E_ARGUMENT, "copy: x is q8_0 [32]; wanted numbers; cast");
    tsr_graph_output(r.graph, "y", INPUT, x, sizeof x - 4);
    rig_refused(&r, TSR_E_ARGUMENT, "output y: room for 20 bytes is given, 24 are needed");
    tsr_graph_output(r.graph, "y", TSR_VALUE_NONE, x, sizeof x);
    rig_refused(&r, TSR_E_ARGUMENT, "y: this graph has no value -1");
    rig_close(&r);
}

Test(graph_api, runs_that_cannot_be) {
    float x = 1, y;
    tsr_graph *none;
    rig r = rig_open("reference");
    cr_assert_eq(tsr_graph_create(NULL, &none), TSR_E_ARGUMENT);
    cr_assert_null(none);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "no output"), "%s", tsr_error_last());
    const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 0, NULL, &x);
    tsr_graph_output(r.graph, "y", rig_unary(r.graph, TSR_OP_TANH, in), &y, sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_float_eq(y, 0.76159416f, 1e-6f);
    cr_assert_eq(rig_unary(r.graph, TSR_OP_TANH, in), TSR_VALUE_NONE);
    rig_refused(&r, TSR_E_STATE, "build another");
    rig_close(&r);
}
