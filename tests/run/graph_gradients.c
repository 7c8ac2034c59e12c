/* Gradients of the public graph (tessera/graph.h): they are those of the sum of what is seeded, on the
 * reference and on the default device; ops that have none are named. */
#include "rig.h"

#include <criterion/criterion.h>
#include <string.h>

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
    const tsr_value h = rig_unary(
                        g, TSR_OP_GELU,
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
    for (size_t d = 0; d < RIG_DEVICES; d++) {
        rig r = rig_open(rig_devices[d]);
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
        rig_close(&r);

        net same; /* weights in place of inputs */
        fill_net(&same);
        r = rig_open(rig_devices[d]);
        build_net(&r, &same, true);
        cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
        for (int i = 0; i < 20; i++)
            cr_assert(same.dw[i / 5][i % 5] - n.dw[i / 5][i % 5] < 1e-5f &&
                      n.dw[i / 5][i % 5] - same.dw[i / 5][i % 5] < 1e-5f);
        rig_close(&r);
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
    for (size_t d = 0; d < RIG_DEVICES; d++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            rig r = rig_open(rig_devices[d]);
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
            rig_close(&r);
        }
}

/* Each row: the shape of b in a b, with a of [2,3], and its gradient: the sums over the sizes that it
 * is repeated along. */
Test(graph_api, gradients_of_repeated_sizes) {
    static const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 1, 1, 1, 1, 1};
    static const struct {
        uint32_t rank;
        int64_t dims[2];
        int n;
        float wanted[6];
    } rows[] = {{2, {2, 3}, 6, {1, 4, 9, 16, 25, 36}},
                {1, {3}, 3, {17, 29, 45}},
                {2, {1, 3}, 3, {17, 29, 45}},
                {2, {2, 1}, 2, {14, 77}},
                {2, {1, 1}, 1, {91}},
                {1, {1}, 1, {91}},
                {0, {0}, 1, {91}}};
    const int64_t dims[] = {2, 3};
    for (size_t d = 0; d < RIG_DEVICES; d++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rig r = rig_open(rig_devices[d]);
            float got[6];
            tsr_value gradient;
            const int64_t own[] = {rows[i].n};
            const tsr_value x = tsr_graph_input(r.graph, "a", TSR_F32, 2, dims, a),
                            y = tsr_graph_input(r.graph, "b", TSR_F32, 1, own, b),
                            view = tsr_graph_reshape(r.graph, y, rows[i].rank, rows[i].dims),
                            z = tsr_graph_op(r.graph, TSR_OP_MUL, NULL, (tsr_value[]){x, view}, 2);
            tsr_graph_gradients(r.graph, &y, 1, &z, &x, 1, &gradient);
            tsr_graph_output(r.graph, "db", gradient, got, (size_t)rows[i].n * sizeof *got);
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "row %zu: %s", i, tsr_error_last());
            for (int k = 0; k < rows[i].n; k++)
                cr_expect_eq(got[k], rows[i].wanted[k], "row %zu: %g", i, (double)got[k]);
            rig_close(&r);
        }
}

Test(graph_api, factors_of_one_loss_are_added) {
    static const float logits[4] = {0, 0, 0, 0}, factors[2] = {0.5f, 1.5f};
    static const int32_t targets[2] = {0, 1};
    static const float wanted[4] = {-1, 1, 1, -1};
    const tsr_cross_entropy_attrs attrs = {.struct_size = sizeof attrs, .ignore = -100};
    rig r = rig_open("reference");
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
    rig_close(&r);
}

Test(graph_api, gradients_pass_copies_and_gathers_of_halves) {
    static const uint16_t halves[4] = {0x3c00, 0x4000, 0x4200, 0x4400}; /* 1 2 3 4 */
    static const float a[4] = {1, 2, 3, 4}, ones[4] = {1, 1, 1, 1};
    static const float wanted[2][4] = {{4, 4, 6, 6}, {6, 6, 4, 4}};
    static const int32_t order[2] = {1, 0};
    const tsr_matmul_attrs plain = {.struct_size = sizeof plain, .alpha = 1};
    const int64_t dims[] = {2, 2};
    for (size_t d = 0; d < RIG_DEVICES; d++)
        for (int gathered = 0; gathered < 2; gathered++) {
            rig r = rig_open(rig_devices[d]);
            float got[4];
            tsr_value gradient;
            const tsr_value left = tsr_graph_input(r.graph, "a", TSR_F32, 2, dims, a),
                            x = tsr_graph_input(r.graph, "x", TSR_F16, 2, dims, halves),
                            seed = tsr_graph_input(r.graph, "seed", TSR_F32, 2, dims, ones),
                            index = tsr_graph_input(r.graph, "index", TSR_I32, 1, (int64_t[]){2},
                                                    order),
                            right = gathered ? tsr_graph_op(r.graph, TSR_OP_GATHER, NULL,
                                                            (tsr_value[]){x, index}, 2)
                                             : rig_unary(r.graph, TSR_OP_COPY, x),
                            y = tsr_graph_op(r.graph, TSR_OP_MATMUL, &plain,
                                             (tsr_value[]){left, right}, 2);
            tsr_graph_gradients(r.graph, &x, 1, &y, &seed, 1, &gradient);
            tsr_graph_output(r.graph, "dx", gradient, got, sizeof got);
            cr_assert_eq(tsr_graph_run(r.graph), TSR_OK, "%s", tsr_error_last());
            for (int k = 0; k < 4; k++)
                cr_expect_float_eq(got[k], wanted[gathered][k], 1e-5f, "%d, %d: %g", gathered, k,
                                   (double)got[k]);
            rig_close(&r);
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
    rig_refused(r, TSR_E_UNSUPPORTED, fragment);
}

Test(graph_api, ops_without_a_gradient_are_named) {
    static const float data[8] = {0};
    static const int32_t zero[2] = {0}, one[1] = {1};
    const int64_t dims[] = {2, 2}, heads[] = {1, 1, 1, 2}, cube[] = {2, 2, 2}, row[] = {2, 1, 2};
    const tsr_embed_attrs rows = {.struct_size = sizeof rows, .whole = 4};
    const tsr_linear_attrs experts = {.struct_size = sizeof experts, .whole = 4};
    const tsr_matmul_attrs plain = {.struct_size = sizeof plain, .alpha = 1};
    const tsr_cast_attrs halves = {.struct_size = sizeof halves, .dtype = TSR_F16};
    const tsr_cross_entropy_attrs loss = {.struct_size = sizeof loss, .ignore = -100};
    const tsr_rope_attrs rope = {.struct_size = sizeof rope, .rotary = 2};
    const tsr_scale_attrs thrice = {.struct_size = sizeof thrice, .alpha = 3};
    rig r = rig_open("reference");
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
    const tsr_value kept = rig_unary(r.graph, TSR_OP_COPY, state);
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
    const tsr_value ids = tsr_graph_input(r.graph, "ids", TSR_I32, 1, (int64_t[]){2}, zero);
    no_gradient(&r, x, tsr_graph_op(r.graph, TSR_OP_EMBED, &rows, (tsr_value[]){x, ids}, 2),
                "embed: the gradient of a part of a table");

    x = LEAF(cube);
    const tsr_value chosen = tsr_graph_input(r.graph, "e", TSR_I32, 2, (int64_t[]){2, 1}, zero);
    no_gradient(&r, x,
                tsr_graph_op(r.graph, TSR_OP_EXPERT_LINEAR, &experts,
                             (tsr_value[]){LEAF(row), x, chosen}, 3),
                "expert_linear of a part of the experts has no gradient");

    x = LEAF(dims);
    no_gradient(&r, x, tsr_graph_slice(r.graph, rig_unary(r.graph, TSR_OP_RELU, x), 0, 0, 1),
                "exactly once");
    rig_close(&r);
#undef LEAF
}

Test(graph_api, gradients_that_cannot_be) {
    static const float data[4] = {0};
    rig r = rig_open("reference");
    tsr_value d[2];
    tsr_value x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    tsr_value y = rig_unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, &y, 1, &y, &x, 1, d);
    cr_assert_eq(d[0], TSR_VALUE_NONE);
    rig_refused(&r, TSR_E_ARGUMENT, "is not a weight or an input");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    y = rig_unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, (tsr_value[]){x, x}, 2, &y, &x, 1, d);
    rig_refused(&r, TSR_E_ARGUMENT, "is asked for twice");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    tsr_graph_gradients(r.graph, &x, 1, (tsr_value[]){77}, &x, 1, d);
    rig_refused(&r, TSR_E_ARGUMENT, "no value 77");
    x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data);
    y = rig_unary(r.graph, TSR_OP_RELU, x);
    const tsr_value small = tsr_graph_input(r.graph, "s", TSR_F32, 1, (int64_t[]){3}, data);
    tsr_graph_gradients(r.graph, &x, 1, &y, &small, 1, d);
    rig_refused(&r, TSR_E_ARGUMENT, "is f32 [3]; wanted f32 [4]");
    rig_close(&r);
}

/* An op that is added behind gradients is named after itself, not after the last of them. */
Test(graph_api, ops_behind_gradients_have_their_own_names) {
    static const float data[4] = {0};
    rig r = rig_open("reference");
    tsr_value d;
    const tsr_value x = tsr_graph_input(r.graph, "x", TSR_F32, 1, (int64_t[]){4}, data),
                    three = tsr_graph_input(r.graph, "s", TSR_F32, 1, (int64_t[]){3}, data),
                    y = rig_unary(r.graph, TSR_OP_RELU, x);
    tsr_graph_gradients(r.graph, &x, 1, &y, &x, 1, &d);
    cr_assert_eq(tsr_graph_status(r.graph), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsr_graph_op(r.graph, TSR_OP_MUL, NULL, (tsr_value[]){d, three}, 2),
                 TSR_VALUE_NONE);
    cr_expect_eq(tsr_graph_status(r.graph), TSR_E_ARGUMENT);
    cr_expect(!strstr(tsr_error_last(), "gradient") && strstr(tsr_error_last(), "elementwise"),
              "%s", tsr_error_last());
    rig_close(&r);
}
