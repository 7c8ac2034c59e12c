/* The public graph (tessera/graph.h): what is built runs, on the reference and on the default
 * device, and what can't be built is told in one sentence. */
#include "tessera/graph.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct rig {
    tsr_engine *engine;
    tsr_device *device;
    tsr_graph *graph;
} rig;

static rig open_rig(const char *device) {
    rig r = {0};
    cr_assert_eq(tsr_engine_create(NULL, &r.engine), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_device_open(r.engine, device, NULL, &r.device), TSR_OK, "%s",
                 tsr_error_last());
    cr_assert_eq(tsr_graph_create(r.device, &r.graph), TSR_OK, "%s", tsr_error_last());
    return r;
}

static void close_rig(rig *r) {
    tsr_graph_destroy(&r->graph);
    cr_assert_null(r->graph);
    tsr_device_close(&r->device);
    tsr_engine_destroy(&r->engine);
}

static tsr_value unary(tsr_graph *g, tsr_op_id op, tsr_value x) {
    return tsr_graph_op(g, op, NULL, &x, 1);
}

/* The graph failed with this, and keeps failing so. */
static void refused(rig *r, tsr_status status, const char *fragment) {
    float nothing;
    cr_assert_eq(tsr_graph_status(r->graph), status, "%s", tsr_error_last());
    cr_assert(strstr(tsr_error_last(), fragment), "%s", tsr_error_last());
    cr_assert_eq(tsr_graph_input(r->graph, "late", TSR_F32, 0, NULL, &nothing), TSR_VALUE_NONE);
    tsr_graph_output(r->graph, "late", 0, &nothing, sizeof nothing);
    cr_assert_eq(tsr_graph_run(r->graph), status);
    cr_assert(strstr(tsr_error_last(), fragment), "%s", tsr_error_last());
    close_rig(r);
    *r = open_rig("reference");
}

static const char *const devices[] = {"reference", NULL};

Test(graph_api, what_is_built_runs_as_often_as_wanted) {
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
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
                         tsr_graph_slice(r.graph, unary(r.graph, TSR_OP_RELU, in), 1, 1, 1), middle,
                         sizeof middle);
        tsr_graph_output(r.graph, "same", in, same, sizeof same);
        tsr_graph_output(r.graph, "best", unary(r.graph, TSR_OP_ARGMAX, in), best, sizeof best);
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
        close_rig(&r);
    }
}

Test(graph_api, a_state_lives_from_run_to_run) {
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
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
        close_rig(&r);
    }
}

Test(graph_api, sizes_of_zero_and_one) {
    rig r = open_rig(NULL);
    float one = -3, result = 0;
    const tsr_value none = tsr_graph_input(r.graph, "none", TSR_F32, 2, (int64_t[]){0, 5}, NULL),
                    x = tsr_graph_input(r.graph, "one", TSR_F32, 1, (int64_t[]){1}, &one);
    tsr_graph_output(r.graph, "nothing", unary(r.graph, TSR_OP_RELU, none), NULL, 0);
    tsr_graph_output(r.graph, "tanh", unary(r.graph, TSR_OP_RELU, x), &result, sizeof result);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(result, 0);
    uint32_t rank;
    int64_t dims[TSR_MAX_RANK];
    cr_assert_eq(tsr_graph_shape(r.graph, none, &rank, dims), TSR_OK);
    cr_assert(rank == 2 && dims[0] == 0 && dims[1] == 5);
    cr_assert_eq(tsr_graph_shape(r.graph, 99, &rank, dims), TSR_E_ARGUMENT);
    close_rig(&r);
}

/* y = v gelu(x w + b), cross entropy of it, and a term x x beside: every kind of leaf. */
typedef struct net {
    float x[3][4], w[4][5], b[5], v[5][6], seed[1], side[3][4];
    int32_t targets[3];
    float loss[3], square[3][4], dx[3][4], dw[4][5], db[5], dv[5][6], unused[2], dunused[2];
} net;

static void build_net(rig *r, net *n, bool weights) {
    tsr_graph *g = r->graph;
    const tsr_linear_attrs linear = {.struct_size = sizeof linear};
    const tsr_cross_entropy_attrs loss = {.struct_size = sizeof loss, .ignore = -100};
    tsr_value (*leaf)(tsr_graph *, const char *, tsr_dtype, uint32_t, const int64_t *,
                      const void *) = weights ? tsr_graph_weight : tsr_graph_input;
    const tsr_value x = tsr_graph_input(g, "x", TSR_F32, 2, (int64_t[]){3, 4}, n->x),
                    w = leaf(g, "w", TSR_F32, 2, (int64_t[]){4, 5}, n->w),
                    b = leaf(g, "b", TSR_F32, 1, (int64_t[]){5}, n->b),
                    v = leaf(g, "v", TSR_F32, 2, (int64_t[]){5, 6}, n->v),
                    unused = tsr_graph_input(g, "u", TSR_F32, 1, (int64_t[]){2}, n->unused),
                    targets = tsr_graph_input(g, "t", TSR_I32, 1, (int64_t[]){3}, n->targets),
                    seed = tsr_graph_input(g, "seed", TSR_F32, 1, (int64_t[]){1}, n->seed),
                    side = tsr_graph_input(g, "side", TSR_F32, 2, (int64_t[]){3, 4}, n->side);
    const tsr_value h = unary(g, TSR_OP_GELU,
                              tsr_graph_op(g, TSR_OP_LINEAR, &linear, (tsr_value[]){x, w, b}, 3)),
                    y = tsr_graph_op(g, TSR_OP_LINEAR, &linear, (tsr_value[]){h, v}, 2),
                    rows =
                        tsr_graph_op(g, TSR_OP_CROSS_ENTROPY, &loss, (tsr_value[]){y, targets}, 2),
                    square = tsr_graph_op(g, TSR_OP_MUL, NULL, (tsr_value[]){x, x}, 2);
    const tsr_value leaves[] = {x, w, b, v, unused}, of[] = {rows, square}, seeds[] = {seed, side};
    tsr_value d[5];
    tsr_graph_gradients(g, leaves, 5, of, seeds, 2, d);
    tsr_graph_output(g, "loss", rows, n->loss, sizeof n->loss);
    tsr_graph_output(g, "square", square, n->square, sizeof n->square);
    tsr_graph_output(g, "dx", d[0], n->dx, sizeof n->dx);
    tsr_graph_output(g, "dw", d[1], n->dw, sizeof n->dw);
    tsr_graph_output(g, "db", d[2], n->db, sizeof n->db);
    tsr_graph_output(g, "dv", d[3], n->dv, sizeof n->dv);
    tsr_graph_output(g, "du", d[4], n->dunused, sizeof n->dunused);
    cr_assert_eq(tsr_graph_status(g), TSR_OK, "%s", tsr_error_last());
}

static void fill_net(net *n) {
    float *all = n->x[0];
    const size_t count = (size_t)(n->seed - all);
    *n = (net){.seed = {0.5f}, .targets = {1, 5, 2}};
    for (size_t i = 0; i < count; i++)
        all[i] = (float)((i * 37 + 11) % 23) / 23 - 0.5f;
    for (size_t i = 0; i < 12; i++)
        n->side[i / 4][i % 4] = (float)i / 12 - 0.4f;
}

/* What the gradients are of. */
static double sum_of(const net *n) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += (double)n->seed[0] * (double)n->loss[i];
    for (int i = 0; i < 12; i++)
        sum += (double)n->side[i / 4][i % 4] * (double)n->square[i / 4][i % 4];
    return sum;
}

Test(graph_api, gradients_are_those_of_the_sum) {
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
        net n;
        fill_net(&n);
        build_net(&r, &n, false);
        struct {
            float *values, *gradient;
            int count;
        } parts[] = {
            {n.x[0], n.dx[0], 12}, {n.w[0], n.dw[0], 20}, {n.b, n.db, 5}, {n.v[0], n.dv[0], 30}};
        for (size_t p = 0; p < 4; p++)
            for (int i = 0; i < parts[p].count; i++) {
                const float kept = parts[p].values[i], h = 1e-2f;
                double sums[2];
                for (int side = 0; side < 2; side++) {
                    parts[p].values[i] = side ? kept + h : kept - h;
                    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
                    sums[side] = sum_of(&n);
                }
                parts[p].values[i] = kept;
                cr_assert_eq(tsr_graph_run(r.graph), TSR_OK); /* each run begins anew */
                const double slope = (sums[1] - sums[0]) / (2 * (double)h),
                             got = (double)parts[p].gradient[i];
                cr_assert(got - slope < 1e-3 && slope - got < 1e-3, "%zu[%d]: %g, wanted %g", p, i,
                          got, slope);
            }
        cr_assert(n.dunused[0] == 0 && n.dunused[1] == 0);
        close_rig(&r);

        net same; /* weights in place of inputs */
        fill_net(&same);
        r = open_rig(devices[d]);
        build_net(&r, &same, true);
        cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
        for (int i = 0; i < 20; i++)
            cr_assert(same.dw[i / 5][i % 5] - n.dw[i / 5][i % 5] < 1e-5f &&
                      n.dw[i / 5][i % 5] - same.dw[i / 5][i % 5] < 1e-5f);
        close_rig(&r);
    }
}

typedef struct seeding { /* what the gradient is of, with seeds */
    tsr_value of[2], seeds[2];
    uint32_t n;
} seeding;

/* y = x x, of [2,2]; ones, tens and counted are of that shape. */
typedef struct squares {
    tsr_graph *graph;
    tsr_value x, y, ones, tens, counted;
} squares;

static seeding of_it_twice(const squares *s) {
    return (seeding){{s->y, s->y}, {s->ones, s->tens}, 2};
}

static seeding of_it_reshaped(const squares *s) {
    const int64_t flat[] = {4};
    return (seeding){{tsr_graph_reshape(s->graph, s->y, 1, flat)},
                     {tsr_graph_reshape(s->graph, s->counted, 1, flat)},
                     1};
}

static seeding of_it_permuted(const squares *s) {
    return (seeding){{tsr_graph_permute(s->graph, s->y, (uint32_t[]){1, 0})}, {s->counted}, 1};
}

static seeding of_its_columns(const squares *s) {
    return (seeding){
        {tsr_graph_slice(s->graph, s->y, 1, 0, 1), tsr_graph_slice(s->graph, s->y, 1, 1, 1)},
        {tsr_graph_slice(s->graph, s->ones, 1, 0, 1), tsr_graph_slice(s->graph, s->tens, 1, 0, 1)},
        2};
}

static seeding of_the_leaf(const squares *s) {
    return (seeding){{s->x, s->y}, {s->tens, s->ones}, 2};
}

Test(graph_api, gradients_of_every_kind_of_seed) {
    static const float data[4] = {1, 2, 3, 4}, ones[4] = {1, 1, 1, 1}, tens[4] = {10, 10, 10, 10};
    static const struct {
        const char *name;
        seeding (*of)(const squares *s);
        float wanted[4];
    } table[] = {
        {"the same value twice", of_it_twice, {22, 44, 66, 88}},
        {"another shape", of_it_reshaped, {2, 8, 18, 32}},
        {"permuted", of_it_permuted, {2, 12, 12, 32}},
        {"its columns", of_its_columns, {2, 40, 6, 80}},
        {"the leaf itself", of_the_leaf, {12, 14, 16, 18}},
    };
    const int64_t dims[] = {2, 2};
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            rig r = open_rig(devices[d]);
            float got[4];
            tsr_value gradient;
            squares s = {.graph = r.graph,
                         .x = tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, data),
                         .ones = tsr_graph_input(r.graph, "ones", TSR_F32, 2, dims, ones),
                         .tens = tsr_graph_input(r.graph, "tens", TSR_F32, 2, dims, tens),
                         .counted = tsr_graph_input(r.graph, "counted", TSR_F32, 2, dims, data)};
            s.y = tsr_graph_op(r.graph, TSR_OP_MUL, NULL, (tsr_value[]){s.x, s.x}, 2);
            const seeding given = table[i].of(&s);
            tsr_graph_gradients(r.graph, &s.x, 1, given.of, given.seeds, given.n, &gradient);
            tsr_graph_output(r.graph, "dx", gradient, got, sizeof got);
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s: %s", table[i].name, tsr_error_last());
            for (int k = 0; k < 4; k++)
                cr_expect_eq(got[k], table[i].wanted[k], "%s: %g", table[i].name, (double)got[k]);
            close_rig(&r);
        }
}

Test(graph_api, factors_of_one_loss_are_added) {
    static const float logits[4] = {0, 0, 0, 0}, factors[2] = {0.5f, 1.5f};
    static const int32_t targets[2] = {0, 1};
    static const float wanted[4] = {-1, 1, 1, -1};
    const tsr_cross_entropy_attrs attrs = {.struct_size = sizeof attrs, .ignore = -100};
    rig r = open_rig("reference");
    float got[4];
    tsr_value gradient;
    const tsr_value x = tsr_graph_input(r.graph, "x", TSR_F32, 2, (int64_t[]){2, 2}, logits),
                    t = tsr_graph_input(r.graph, "t", TSR_I32, 1, (int64_t[]){2}, targets),
                    a = tsr_graph_input(r.graph, "a", TSR_F32, 1, (int64_t[]){1}, &factors[0]),
                    b = tsr_graph_input(r.graph, "b", TSR_F32, 1, (int64_t[]){1}, &factors[1]),
                    loss =
                        tsr_graph_op(r.graph, TSR_OP_CROSS_ENTROPY, &attrs, (tsr_value[]){x, t}, 2);
    tsr_graph_gradients(r.graph, &x, 1, (tsr_value[]){loss, loss}, (tsr_value[]){a, b}, 2,
                        &gradient);
    tsr_graph_output(r.graph, "dx", gradient, got, sizeof got);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    for (int k = 0; k < 4; k++)
        cr_expect_float_eq(got[k], wanted[k], 1e-6f, "%d: %g", k, (double)got[k]);
    close_rig(&r);
}

Test(graph_api, gradients_pass_copies_and_gathers_of_halves) {
    static const uint16_t halves[4] = {0x3c00, 0x4000, 0x4200, 0x4400}; /* 1 2 3 4 */
    static const float a[4] = {1, 2, 3, 4}, ones[4] = {1, 1, 1, 1};
    static const float wanted[2][4] = {{4, 4, 6, 6}, {6, 6, 4, 4}};
    static const int32_t order[2] = {1, 0};
    const tsr_matmul_attrs plain = {.struct_size = sizeof plain, .alpha = 1};
    const int64_t dims[] = {2, 2};
    for (size_t d = 0; d < 2; d++)
        for (int gathered = 0; gathered < 2; gathered++) {
            rig r = open_rig(devices[d]);
            float got[4];
            tsr_value gradient;
            const tsr_value left = tsr_graph_input(r.graph, "a", TSR_F32, 2, dims, a),
                            x = tsr_graph_input(r.graph, "x", TSR_F16, 2, dims, halves),
                            seed = tsr_graph_input(r.graph, "seed", TSR_F32, 2, dims, ones),
                            index = tsr_graph_input(r.graph, "index", TSR_I32, 1, (int64_t[]){2},
                                                    order),
                            right = gathered ? tsr_graph_op(r.graph, TSR_OP_GATHER, NULL,
                                                            (tsr_value[]){x, index}, 2)
                                             : unary(r.graph, TSR_OP_COPY, x),
                            y = tsr_graph_op(r.graph, TSR_OP_MATMUL, &plain,
                                             (tsr_value[]){left, right}, 2);
            tsr_graph_gradients(r.graph, &x, 1, &y, &seed, 1, &gradient);
            tsr_graph_output(r.graph, "dx", gradient, got, sizeof got);
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
            for (int k = 0; k < 4; k++)
                cr_expect_float_eq(got[k], wanted[gathered][k], 1e-5f, "%d, %d: %g", gathered, k,
                                   (double)got[k]);
            close_rig(&r);
        }
}

/* Asks for the gradient of y with respect to x, which is refused with this. */
static void no_gradient(rig *r, tsr_value x, tsr_value y, const char *fragment) {
    static const float zeros[16] = {0};
    uint32_t rank = 0;
    int64_t dims[TSR_MAX_RANK];
    tsr_value d;
    cr_assert_eq(tsr_graph_shape(r->graph, y, &rank, dims), TSR_OK, "%s", tsr_error_last());
    const tsr_value seed = tsr_graph_input(r->graph, "seed", TSR_F32, rank, dims, zeros);
    tsr_graph_gradients(r->graph, &x, 1, &y, &seed, 1, &d);
    cr_expect_eq(d, TSR_VALUE_NONE);
    refused(r, TSR_E_UNSUPPORTED, fragment);
}

Test(graph_api, ops_without_a_gradient_are_named) {
    static const float data[8] = {0};
    static const int32_t zero[2] = {0}, one[1] = {1};
    const int64_t dims[] = {2, 2}, heads[] = {1, 1, 1, 2};
    const tsr_matmul_attrs plain = {.struct_size = sizeof plain, .alpha = 1};
    const tsr_cast_attrs halves = {.struct_size = sizeof halves, .dtype = TSR_F16};
    const tsr_cross_entropy_attrs loss = {.struct_size = sizeof loss, .ignore = -100};
    const tsr_rope_attrs rope = {.struct_size = sizeof rope, .rotary = 2};
    const tsr_scale_attrs thrice = {.struct_size = sizeof thrice, .alpha = 3};
    rig r = open_rig("reference");
#define LEAF(shape) \
    tsr_graph_input(r.graph, "x", TSR_F32, sizeof shape / sizeof *shape, shape, data)
    tsr_value x = LEAF(dims), d, out[2];
    const tsr_value rounded = tsr_graph_op(r.graph, TSR_OP_CAST, &halves, &x, 1);
    no_gradient(&r, x,
                tsr_graph_op(r.graph, TSR_OP_MATMUL, &plain, (tsr_value[]){LEAF(dims), rounded}, 2),
                "cast has no gradient");

    x = LEAF(heads); /* by way of a state */
    tsr_value state = tsr_graph_state(r.graph, "state", TSR_F32, 4, (int64_t[]){1, 1, 4, 2});
    const tsr_value past = tsr_graph_input(r.graph, "past", TSR_I32, 1, (int64_t[]){1}, zero),
                    len = tsr_graph_input(r.graph, "len", TSR_I32, 1, (int64_t[]){1}, one);
    tsr_graph_op(r.graph, TSR_OP_KV_APPEND, NULL, (tsr_value[]){state, x, past, len}, 4);
    const tsr_value kept = unary(r.graph, TSR_OP_COPY, state);
    no_gradient(&r, x, tsr_graph_op(r.graph, TSR_OP_SCALE, &thrice, &kept, 1),
                "kv_append has no gradient");

    x = LEAF(dims); /* a gradient of a gradient */
    const tsr_value y = tsr_graph_op(r.graph, TSR_OP_MUL, NULL, (tsr_value[]){x, x}, 2);
    tsr_graph_gradients(r.graph, &x, 1, &y, (tsr_value[]){LEAF(dims)}, 1, &d);
    no_gradient(&r, x, d, "accumulate has no gradient");

    x = LEAF(dims);
    const tsr_value targets = tsr_graph_input(r.graph, "t", TSR_I32, 1, (int64_t[]){2}, zero);
    tsr_graph_op_outputs(r.graph, TSR_OP_CROSS_ENTROPY, &loss, (tsr_value[]){x, targets}, 2, 0, out,
                         2);
    no_gradient(&r, x, out[1], "gradient of the log-sum-exp");

    x = tsr_graph_input(r.graph, "f", TSR_F32, 1, (int64_t[]){1}, data);
    const tsr_value at = tsr_graph_input(r.graph, "at", TSR_I32, 2, (int64_t[]){1, 1}, zero);
    no_gradient(&r, x,
                tsr_graph_op(r.graph, TSR_OP_ROPE, &rope, (tsr_value[]){LEAF(heads), at, x}, 3),
                "gradient of inv_freq");

    x = LEAF(dims);
    no_gradient(&r, x, tsr_graph_slice(r.graph, unary(r.graph, TSR_OP_RELU, x), 0, 0, 1),
                "exactly once");
    close_rig(&r);
#undef LEAF
}

Test(graph_api, gradients_that_cannot_be) {
    static const float data[4] = {0};
    rig r = open_rig("reference");
    tsr_value d[2];
    tsr_value x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    tsr_value y = unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, &y, 1, &y, &x, 1, d);
    cr_assert_eq(d[0], TSR_VALUE_NONE);
    refused(&r, TSR_E_ARGUMENT, "is not a weight or an input");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    y = unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, (tsr_value[]){x, x}, 2, &y, &x, 1, d);
    refused(&r, TSR_E_ARGUMENT, "is asked for twice");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    tsr_graph_gradients(r.graph, &x, 1, (tsr_value[]){77}, &x, 1, d);
    refused(&r, TSR_E_ARGUMENT, "no value 77");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    y = unary(r.graph, TSR_OP_RELU, x);
    const tsr_value small = tsr_graph_input(r.graph, "s", TSR_F32, 1, (int64_t[]){3}, data);
    tsr_graph_gradients(r.graph, &x, 1, &y, &small, 1, d);
    refused(&r, TSR_E_ARGUMENT, "is f32 [3]; wanted f32 [4]");
    close_rig(&r);
}

/* An op that is added behind gradients is named after itself, not after the last of them. */
Test(graph_api, ops_behind_gradients_have_their_own_names) {
    static const float data[4] = {0};
    rig r = open_rig("reference");
    tsr_value d;
    const tsr_value x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data),
                    three = tsr_graph_input(r.graph, "s", TSR_F32, 1, (int64_t[]){3}, data),
                    y = unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, &x, 1, &y, &x, 1, &d);
    cr_assert_eq(tsr_graph_status(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_graph_op(r.graph, TSR_OP_MUL, NULL, (tsr_value[]){d, three}, 2),
                 TSR_VALUE_NONE);
    cr_expect_eq(tsr_graph_status(r.graph), TSR_E_ARGUMENT);
    cr_expect(!strstr(tsr_error_last(), "gradient") && strstr(tsr_error_last(), "elementwise"),
              "%s", tsr_error_last());
    close_rig(&r);
}

Test(graph_api, rows_of_outputs_of_any_dtype) {
    static const float x[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    static const uint16_t wanted[2][2] = {{0x4200, 0x4400}, {0x4500, 0x4600}}; /* 3 4 5 6 */
    static const int64_t rows[4][2] = {{1, -2}, {3, -4}, {5, -6}, {7, -8}};
    static const int32_t index[4] = {3, 2, 1, 0};
    const tsr_cast_attrs halves = {.struct_size = sizeof halves, .dtype = TSR_F16};
    const int64_t dims[] = {4, 2};
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
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
        close_rig(&r);
    }
}

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
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
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
        close_rig(&r);
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
    for (size_t d = 0; d < 2; d++) {
        rig r = open_rig(devices[d]);
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
        close_rig(&r);
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
        rig r = open_rig(device);
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
        close_rig(&r);
    }
    cr_expect_arr_eq(y[1], y[0], sizeof y[0], "%s", device ? device : "the default device");
}

Test(graph_api, a_mask_of_attention_is_repeated_for_heads) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        repeat_a_mask(devices[i]);
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
    rig r = open_rig("reference");
    const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x);
    tsr_graph_output(r.graph, "y", tsr_graph_op(r.graph, TSR_OP_SCALE, &attrs, &in, 1), &y,
                     sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(y, 6);
    close_rig(&r);
    r = open_rig("reference");
    const tsr_value same = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x);
    tsr_graph_output(r.graph, "y", tsr_graph_op(r.graph, TSR_OP_SCALE, &old, &same, 1), &y,
                     sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(y, 0, "alpha is 0 where it is not given");
    attrs.unknown = 1;
    close_rig(&r);
    r = open_rig("reference");
    tsr_graph_op(r.graph, TSR_OP_SCALE, &attrs,
                 (tsr_value[]){tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){1}, &x)}, 1);
    refused(&r, TSR_E_UNSUPPORTED, "newer field");
    close_rig(&r);
}

Test(graph_api, what_cannot_be_built_is_told_once_and_stays) {
    float x[6] = {0};
    unsigned char blocks[34] = {0};
    const int64_t dims[] = {2, 3}, negative[] = {2, -3}, huge[] = {1 << 16, 1 << 16},
                  many[] = {1 << 16, 1};
    const tsr_matmul_attrs turned = {.struct_size = sizeof turned, .trans_b = 1};
    rig r = open_rig("reference");
#define INPUT tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, x)
    tsr_graph_input(r.graph, "x", TSR_F32, 2, negative, x);
    refused(&r, TSR_E_ARGUMENT, "x: a shape must have");
    tsr_graph_input(r.graph, "x", TSR_F32, 2, huge, x);
    refused(&r, TSR_E_ARGUMENT, "2^31 - 1 elements");
    tsr_graph_input(r.graph, "x", TSR_F32, 7, dims, x);
    refused(&r, TSR_E_ARGUMENT, "at most 6 sizes");
    tsr_graph_input(r.graph, "x", (tsr_dtype)99, 2, dims, x);
    refused(&r, TSR_E_ARGUMENT, "x: ");
    tsr_graph_weight(r.graph, "w", TSR_GGML_Q8_0, 2, dims, x);
    refused(&r, TSR_E_ARGUMENT, "of dtype q8_0");
    tsr_graph_input(r.graph, "x", TSR_F32, 2, dims, NULL);
    refused(&r, TSR_E_ARGUMENT, "input x: data is NULL; give an array of 24 bytes");
    tsr_graph_weight(r.graph, "w", TSR_F32, 2, dims, NULL);
    refused(&r, TSR_E_ARGUMENT, "weight w: data is NULL");
    tsr_graph_output(r.graph, "y", INPUT, NULL, sizeof x);
    refused(&r, TSR_E_ARGUMENT, "output y: data is NULL");
    tsr_graph_state(r.graph, "s", TSR_F32, 0, dims);
    refused(&r, TSR_E_ARGUMENT, "a state has 1 to 4");
    tsr_graph_op(r.graph, TSR_OP_RELU, NULL, (tsr_value[]){5}, 1);
    refused(&r, TSR_E_ARGUMENT, "relu: this graph has no value 5");
    tsr_graph_op(r.graph, (tsr_op_id)9999, NULL, (tsr_value[]){INPUT}, 1);
    refused(&r, TSR_E_UNSUPPORTED, "op 9999");
    tsr_graph_op(r.graph, TSR_OP_MATMUL, NULL, (tsr_value[]){INPUT, INPUT}, 2);
    refused(&r, TSR_E_ARGUMENT, "no attributes");
    tsr_graph_op(r.graph, TSR_OP_RELU, NULL, (tsr_value[]){INPUT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                 12);
    refused(&r, TSR_E_ARGUMENT, "12 operands");
    const tsr_value tall = tsr_graph_input(r.graph, "tall", TSR_F32, 2, many, x);
    cr_assert_eq(tsr_graph_op(r.graph, TSR_OP_MATMUL, &turned, (tsr_value[]){tall, tall}, 2),
                 TSR_VALUE_NONE);
    refused(&r, TSR_E_UNSUPPORTED, "matmul: its result would have more than 2^31 - 1");
    tsr_graph_reshape(r.graph, INPUT, 1, (int64_t[]){7});
    refused(&r, TSR_E_ARGUMENT, "reshape");
    tsr_graph_permute(r.graph, INPUT, (uint32_t[]){0, 0});
    refused(&r, TSR_E_ARGUMENT, "permute");
    tsr_graph_slice(r.graph, INPUT, 1, 2, 2);
    refused(&r, TSR_E_ARGUMENT, "slice");
    tsr_graph_output(r.graph, "w",
                     tsr_graph_weight(r.graph, "w", TSR_GGML_Q8_0, 1, (int64_t[]){32}, blocks),
                     blocks, sizeof blocks);
    refused(&r, TSR_E_ARGUMENT, "copy: x is q8_0 [32]; wanted numbers; cast");
    tsr_graph_output(r.graph, "y", INPUT, x, sizeof x - 4);
    refused(&r, TSR_E_ARGUMENT, "output y: room for 20 bytes is given, 24 are needed");
    tsr_graph_output(r.graph, "y", TSR_VALUE_NONE, x, sizeof x);
    refused(&r, TSR_E_ARGUMENT, "y: this graph has no value -1");
    close_rig(&r);
}

Test(graph_api, runs_that_cannot_be) {
    float x = 1, y;
    tsr_graph *none;
    rig r = open_rig("reference");
    cr_assert_eq(tsr_graph_create(NULL, &none), TSR_E_ARGUMENT);
    cr_assert_null(none);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_E_ARGUMENT);
    cr_assert(strstr(tsr_error_last(), "no output"), "%s", tsr_error_last());
    const tsr_value in = tsr_graph_input(r.graph, "x", TSR_F32, 0, NULL, &x);
    tsr_graph_output(r.graph, "y", unary(r.graph, TSR_OP_TANH, in), &y, sizeof y);
    cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_float_eq(y, 0.76159416f, 1e-6f);
    cr_assert_eq(unary(r.graph, TSR_OP_TANH, in), TSR_VALUE_NONE);
    refused(&r, TSR_E_STATE, "build another");
    close_rig(&r);
}
