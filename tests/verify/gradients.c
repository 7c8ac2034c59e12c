/* tests/verify/gradients.c - the oracle's gradients against differences of its own forward ops. */
#include "support/direct.h"
#include "verify/differences.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attention ---- */

#define ATTENTION(...)                                          \
    &(const tsr_attention_attrs) {                              \
        .struct_size = sizeof(tsr_attention_attrs), __VA_ARGS__ \
    }
#define OF_ATTENTION(attributes)                                                           \
    .forward = TSR_OP_ATTENTION, .gradient = TSR_OP_ATTENTION_GRAD, .attrs = (attributes), \
    .gradient_attrs = (attributes), .operands = "012ABd3478", .results = "0128"

Test(gradients, attention) {
    const subject rows[] = {
        {.name = "causal, three queries a key head, keys before, distances",
         OF_ATTENTION(ATTENTION(.causal = 1, .scale = 0.5f)),
         .in = {{4, {2, 3, 6, 4}},
                {4, {2, 5, 2, 4}},
                {4, {2, 5, 2, 3}},
                {1, {2}, (const int32_t[]){2, 0}},
                {1, {2}, (const int32_t[]){5, 4}},
                [8] = {2, {6, 5}}},
         .out = {{4, {2, 3, 6, 3}}, {3, {2, 6, 3}}},
         .gives = {{4, {2, 3, 6, 4}}, {4, {2, 5, 2, 4}}, {4, {2, 5, 2, 3}}, {2, {6, 5}}}},
        {.name = "padded, biased",
         OF_ATTENTION(ATTENTION(.scale = 0.7f)),
         .in = {{4, {2, 4, 2, 3}},
                {4, {2, 6, 2, 3}},
                {4, {2, 6, 2, 5}},
                [4] = {1, {2}, (const int32_t[]){6, 2}},
                [7] = {4, {2, 2, 4, 6}}},
         .out = {{4, {2, 4, 2, 5}}, {3, {2, 2, 4}}},
         .gives = {{4, {2, 4, 2, 3}}, {4, {2, 6, 2, 3}}, {4, {2, 6, 2, 5}}}},
        {.name = "window",
         OF_ATTENTION(ATTENTION(.causal = 1, .window = 3, .scale = 1)),
         .in = {{4, {1, 7, 1, 4}}, {4, {1, 7, 1, 4}}, {4, {1, 7, 1, 4}}},
         .out = {{4, {1, 7, 1, 4}}, {3, {1, 1, 7}}},
         .gives = {{4, {1, 7, 1, 4}}, {4, {1, 7, 1, 4}}, {4, {1, 7, 1, 4}}}},
        {.name = "soft cap, biased",
         OF_ATTENTION(ATTENTION(.causal = 1, .scale = 1, .soft_cap = 0.8f)),
         .in = {{4, {1, 5, 2, 4}}, {4, {1, 5, 1, 4}}, {4, {1, 5, 1, 4}}, [7] = {4, {1, 2, 5, 5}}},
         .out = {{4, {1, 5, 2, 4}}, {3, {1, 2, 5}}},
         .gives = {{4, {1, 5, 2, 4}}, {4, {1, 5, 1, 4}}, {4, {1, 5, 1, 4}}}},
        {.name = "sinks, a sequence without keys",
         OF_ATTENTION(ATTENTION(.scale = 1)),
         .in = {{4, {2, 3, 4, 4}},
                {4, {2, 5, 2, 4}},
                {4, {2, 5, 2, 4}},
                [4] = {1, {2}, (const int32_t[]){5, 0}},
                [9] = {1, {4}, NULL, 2}},
         .out = {{4, {2, 3, 4, 4}}, {3, {2, 4, 3}}},
         .gives = {{4, {2, 3, 4, 4}}, {4, {2, 5, 2, 4}}, {4, {2, 5, 2, 4}}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

Test(gradients, sinks_of_attention) {
    static const tsr_attention_attrs attrs = {
        .struct_size = sizeof attrs, .causal = 1, .window = 3, .scale = 0.7f};
    const subject sinks = {.name = "sinks",
                           .forward = TSR_OP_ATTENTION,
                           .gradient = TSR_OP_ATTENTION_SINKS_GRAD,
                           .attrs = &attrs,
                           .gradient_attrs = &attrs,
                           .in = {{4, {2, 3, 4, 4}},
                                  {4, {2, 5, 2, 4}},
                                  {4, {2, 5, 2, 3}},
                                  {1, {2}, (const int32_t[]){2, 0}},
                                  {1, {2}, (const int32_t[]){5, 3}},
                                  [9] = {1, {4}, NULL, 2}},
                           .out = {{4, {2, 3, 4, 3}}, {3, {2, 4, 3}}},
                           .operands = "9ABd34",
                           .results = "9",
                           .gives = {{3, {2, 3, 4}}}};
    check(&sinks);
}

/* Attention may leave any finite numbers there, and so may a graph in the incoming gradient. */
Test(gradients, queries_past_the_end_of_a_causal_sequence_add_nothing) {
    const int64_t dims[] = {1, 4, 1, 2}, rows[] = {1, 1, 4};
    const int32_t len = 2;
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .causal = 1, .scale = 1};
    double kept[3][8];
    for (int poisoned = 0; poisoned < 2; poisoned++) {
        double *x[10] = {NULL};
        tsr_tensor tensors[13];
        void *data[13] = {NULL};
        size_t bytes[13];
        for (int i = 0; i < 10; i++) {
            if (i > 5 && i != 7)
                continue;
            const bool lse = i == 4;
            x[i] = numbers((uint64_t)i, 8, 1);
            for (int k = lse ? 2 : 4; poisoned && (i == 0 || i > 2) && k < 8; k++)
                x[i][k] = NAN;
            tensors[i] = direct_tensor(TSR_F64, lse ? 3 : 4, lse ? rows : dims);
            bytes[i] = lse ? 32 : 64;
            data[i] = x[i];
        }
        memcpy(x[7], &len, 4);
        tensors[7] = direct_tensor(TSR_I32, 1, (const int64_t[]){1});
        bytes[7] = 4;
        double results[3][8];
        for (int i = 0; i < 3; i++) {
            tensors[10 + i] = direct_tensor(TSR_F64, 4, dims);
            bytes[10 + i] = 64;
            data[10 + i] = results[i];
        }
        cr_assert_eq(direct_run(TSR_OP_ATTENTION_GRAD, &attrs, 10, 3, tensors, data, bytes), TSR_OK,
                     "%s", tsr_error_last());
        for (int k = 4; k < 8; k++)
            cr_expect(results[0][k] == 0 && results[1][k] == 0 && results[2][k] == 0);
        if (poisoned)
            cr_expect_arr_eq(results, kept, sizeof kept);
        memcpy(kept, results, sizeof kept);
        for (int i = 0; i < 10; i++)
            free(x[i]);
    }
}

Test(gradients, rope) {
    static const tsr_rope_attrs forward = {
        .struct_size = sizeof forward, .rotary = 6, .interleaved = 1, .magnitude = 1.5f};
    static const tsr_rope_attrs back = {
        .struct_size = sizeof back, .rotary = 6, .interleaved = 1, .magnitude = 1.5f, .inverse = 1};
    const subject rope = {
        .name = "rope",
        .forward = TSR_OP_ROPE,
        .gradient = TSR_OP_ROPE,
        .attrs = &forward,
        .gradient_attrs = &back,
        .in = {{4, {2, 3, 2, 8}}, {2, {2, 3}, (const int32_t[]){0, 1, 2, 5, 6, 7}}, {1, {3}}},
        .out = {{4, {2, 3, 2, 8}}},
        .operands = "d12",
        .results = "0",
        .gives = {{4, {2, 3, 2, 8}}}};
    check(&rope);
}

/* ---- recurrent ---- */

/* dw = dgates_h^T before, db = the sum of dgates_h over steps. */
static void make_gru(state *t, double *const *results) {
    const subject *s = t->s;
    double **gradients = t->gradients;
    const int64_t steps = s->in[0].dim[0] * s->in[0].dim[1], E = s->in[2].dim[1];
    gradients[2] = calloc((size_t)(3 * E * E), sizeof(double));
    gradients[3] = calloc((size_t)(3 * E), sizeof(double));
    for (int64_t r = 0; r < steps; r++)
        for (int64_t g = 0; g < 3 * E; g++) {
            gradients[3][g] += results[1][r * 3 * E + g];
            for (int64_t k = 0; k < E; k++)
                gradients[2][g * E + k] += results[1][r * 3 * E + g] * results[2][r * E + k];
        }
}

Test(gradients, gru_cell) {
    static const tsr_gru_cell_attrs ways[] = {{sizeof(tsr_gru_cell_attrs), 0},
                                              {sizeof(tsr_gru_cell_attrs), 1}};
    for (int i = 0; i < 4; i++) {
        const subject gru = {
            .name = i % 2 ? "gru_cell, reverse" : "gru_cell",
            .forward = TSR_OP_GRU_CELL,
            .gradient = TSR_OP_GRU_CELL_GRAD,
            .attrs = &ways[i % 2],
            .gradient_attrs = &ways[i % 2],
            .in = {{3, {2, 4, 15}},
                   {i < 2 ? 2 : 0, {2, 5}},
                   {2, {15, 5}},
                   {1, {15}},
                   {1, {2}, i < 2 ? (const int32_t[]){4, 2} : (const int32_t[]){3, 9}}},
            .out = {{3, {2, 4, 5}}},
            .operands = "0123Ad4",
            .results = "0--1",
            .gives = {{3, {2, 4, 15}}, {3, {2, 4, 15}}, {3, {2, 4, 5}}, {i < 2 ? 2 : 0, {2, 5}}},
            .make = make_gru};
        check(&gru);
    }
}

Test(gradients, additive_attention) {
    const subject additive = {
        .name = "additive_attention",
        .forward = TSR_OP_ADDITIVE_ATTENTION,
        .gradient = TSR_OP_ADDITIVE_ATTENTION_GRAD,
        .in = {{3, {3, 4, 5}},
               {3, {3, 6, 5}},
               {1, {5}},
               {3, {3, 6, 7}},
               {1, {3}, (const int32_t[]){6, 2, 0}}},
        .out = {{3, {3, 4, 7}}, {3, {3, 4, 6}}},
        .operands = "0123Bd4",
        .results = "0123",
        .gives = {{3, {3, 4, 5}}, {3, {3, 6, 5}}, {2, {3, 5}}, {3, {3, 6, 7}}}};
    check(&additive);
}

/* ---- norms ---- */

/* The gradients of weight and bias, from the statistics of norm_grad. */
static void make_norm(state *t, double *const *results) {
    const operand *x = &t->s->in[0];
    const int64_t C = x->dim[x->rank - 1], stats[] = {count(x) / C, 2}, rows[] = {count(x) / C, C};
    const bool bias = t->s->in[2].rank != 0;
    tsr_tensor tensors[5];
    void *data[5] = {t->in[0], t->dy, results[1]};
    size_t bytes[5] = {(size_t)count(x) * 8, (size_t)count(x) * 8, (size_t)(count(x) / C) * 16};
    tensors[0] = tensors[1] = direct_tensor(TSR_F64, 2, rows);
    tensors[2] = direct_tensor(TSR_F64, 2, stats);
    for (int i = 0; i < 1 + bias; i++) {
        t->gradients[1 + i] = numbers(99, C, NAN);
        tensors[3 + i] = direct_tensor(TSR_F64, 1, &C);
        data[3 + i] = t->gradients[1 + i];
        bytes[3 + i] = (size_t)C * 8;
    }
    cr_assert_eq(direct_run(TSR_OP_NORM_WEIGHT_GRAD, NULL, 3, 2, tensors, data, bytes), TSR_OK,
                 "%s: %s", t->s->name, tsr_error_last());
}

Test(gradients, norms) {
    static const tsr_norm_attrs layer = {.struct_size = sizeof layer, .eps = 1e-2f},
                                rms = {
                                    .struct_size = sizeof rms, .norm = TSR_NORM_RMS, .eps = 0.1f};
    const operand x = {.rank = 3, .dim = {2, 3, 17}}, weight = {.rank = 1, .dim = {17}},
                  stats = {.rank = 3, .dim = {2, 3, 2}};
    for (int i = 0; i < 2; i++) {
        const subject norm = {.name = i ? "rms_norm" : "layer_norm",
                              .forward = i ? TSR_OP_RMS_NORM : TSR_OP_LAYER_NORM,
                              .gradient = TSR_OP_NORM_GRAD,
                              .attrs = i ? &rms : &layer,
                              .gradient_attrs = i ? &rms : &layer,
                              .in = {x, weight, i ? (operand){0} : weight},
                              .out = {x},
                              .operands = "01d",
                              .results = "0-",
                              .gives = {x, stats},
                              .make = make_norm};
        check(&norm);
    }
}

/* sum_rows is the gradient of a bias that is broadcast over rows. */
Test(gradients, sum_rows) {
    const subject bias = {.name = "add of a vector",
                          .forward = TSR_OP_ADD,
                          .gradient = TSR_OP_SUM_ROWS,
                          .in = {{3, {2, 70, 5}}, {1, {5}}},
                          .out = {{3, {2, 70, 5}}},
                          .operands = "d",
                          .results = "1",
                          .gives = {{1, {5}}}};
    check(&bias);
}

Test(gradients, softmax) {
    static const tsr_softmax_attrs forward = {
        .struct_size = sizeof forward, .causal = 1, .scale = 0.5f};
    static const tsr_scale_attrs back = {.struct_size = sizeof back, .alpha = 0.5f};
    const operand x = {.rank = 4, .dim = {2, 3, 5, 5}};
    const subject softmax = {.name = "softmax",
                             .forward = TSR_OP_SOFTMAX,
                             .gradient = TSR_OP_SOFTMAX_GRAD,
                             .attrs = &forward,
                             .gradient_attrs = &back,
                             .in = {x},
                             .out = {x},
                             .operands = "Ad",
                             .results = "0",
                             .gives = {x}};
    check(&softmax);
}

/* ---- rows that an index picks ---- */

static const int32_t picked[] = {3, 0, 3, 6, 2, 3};

Test(gradients, gather) {
    const subject gather = {.name = "gather",
                            .forward = TSR_OP_GATHER,
                            .gradient = TSR_OP_SCATTER,
                            .in = {{2, {7, 4}}, {1, {6}, picked}},
                            .out = {{2, {6, 4}}},
                            .operands = "01d",
                            .results = "0",
                            .gives = {{2, {7, 4}}}};
    check(&gather);
}

/* embed_add writes its gradient into a state, which holds other numbers before, where beta is 0. */
Test(gradients, embed) {
    static const tsr_embed_attrs attrs = {.struct_size = sizeof attrs, .scale = 2.5f};
    const subject embed = {.name = "embed",
                           .forward = TSR_OP_EMBED,
                           .attrs = &attrs,
                           .in = {{2, {7, 4}}, {2, {2, 3}, picked}},
                           .out = {{3, {2, 3, 4}}}};
    const operand beta = {.rank = 1, .dim = {1}};
    int32_t ids[6];
    double zero = 0;
    tsr_tensor tensors[4];
    void *data[4];
    size_t bytes[4];
    state t;
    begin(&t, &embed);
    t.gradients[0] = numbers(5, 28, NAN);
    place(&embed.in[0], t.gradients[0], 0, tensors, data, bytes);
    place(&embed.in[1], NULL, 1, tensors, data, bytes);
    place(&embed.out[0], t.dy, 2, tensors, data, bytes);
    place(&beta, &zero, 3, tensors, data, bytes);
    data[1] = memcpy(ids, picked, sizeof ids); /* operands are read back too */
    cr_assert_eq(direct_run(TSR_OP_EMBED_ADD, &attrs, 4, 0, tensors, data, bytes), TSR_OK, "%s",
                 tsr_error_last());
    end(&t);
}

Test(gradients, distance_scores) {
    const operand by_query = {.rank = 4, .dim = {2, 2, 4, 5}},
                  by_key = {.rank = 4, .dim = {2, 2, 6, 5}}, y = {.rank = 4, .dim = {2, 2, 4, 6}};
    const subject scores = {
        .name = "distance_scores",
        .forward = TSR_OP_DISTANCE_SCORES,
        .gradient = TSR_OP_DISTANCE_SCORES_GRAD,
        .in = {by_query, by_key, {1, {7}, (const int32_t[]){0, 1, 1, 2, 4, 1, 3}}},
        .out = {y},
        .operands = "012d",
        .results = "01",
        .gives = {by_query, by_key}};
    check(&scores);
}

Test(gradients, pool) {
    static const char *const names[] = {"mean", "first", "max", "last"};
    const operand x = {.rank = 3, .dim = {3, 5, 4}}, y = {.rank = 2, .dim = {3, 4}};
    for (uint32_t kind = TSR_POOL_MEAN; kind <= TSR_POOL_LAST; kind++) {
        const tsr_pool_attrs attrs = {.struct_size = sizeof attrs, .kind = kind};
        const subject pool = {.name = names[kind],
                              .forward = TSR_OP_POOL,
                              .gradient = TSR_OP_POOL_GRAD,
                              .attrs = &attrs,
                              .gradient_attrs = &attrs,
                              .in = {x, {1, {3}, (const int32_t[]){5, 2, 0}}},
                              .out = {y},
                              .operands = "01d",
                              .results = "0",
                              .gives = {x}};
        check(&pool);
    }
}

/* ---- activations and gated units ---- */

Test(gradients, activations) {
    static const tsr_op_id forward[] = {0,           TSR_OP_RELU, TSR_OP_GELU,   TSR_OP_GELU_TANH,
                                        TSR_OP_SILU, TSR_OP_TANH, TSR_OP_SIGMOID};
    const operand x = {.rank = 2, .dim = {5, 7}, .size = 3}, both = {2, {5, 14}, NULL, 3};
    for (uint32_t act = TSR_ACT_NONE; act <= TSR_ACT_SIGMOID; act++) {
        const tsr_activation_attrs attrs = {.struct_size = sizeof attrs, .activation = act};
        subject alone = {.name = "an activation",
                         .forward = forward[act],
                         .gradient = TSR_OP_ACTIVATION_GRAD,
                         .gradient_attrs = &attrs,
                         .in = {x},
                         .out = {x},
                         .operands = "0d",
                         .results = "0",
                         .gives = {x}},
                gated = {.name = "glu",
                         .forward = TSR_OP_GLU,
                         .gradient = TSR_OP_GLU_GRAD,
                         .attrs = &attrs,
                         .gradient_attrs = &attrs,
                         .in = {both},
                         .out = {x},
                         .operands = "0d",
                         .results = "0",
                         .gives = {both}};
        const tsr_activation_attrs bounded = {.struct_size = sizeof bounded,
                                              .activation = act,
                                              .limit = 0.6f,
                                              .alpha = 1.7f,
                                              .shift = 1};
        if (act != TSR_ACT_NONE)
            check(&alone);
        check(&gated);
        gated.name = "glu with a limit, an alpha and a shift";
        gated.attrs = gated.gradient_attrs = &bounded;
        check(&gated);
    }
}

/* ---- losses ---- */

static const int32_t targets[] = {3, 0, -100, 10, 7, -100};

Test(gradients, cross_entropy) {
    const operand logits = {3, {2, 3, 11}, NULL, 2}, rows = {.rank = 2, .dim = {2, 3}};
    for (int i = 0; i < 2; i++) {
        const tsr_cross_entropy_attrs attrs = {
            .struct_size = sizeof attrs, .ignore = -100, .label_smoothing = i ? 0.1f : 0};
        const subject entropy = {.name = i ? "cross_entropy, smoothed" : "cross_entropy",
                                 .forward = TSR_OP_CROSS_ENTROPY,
                                 .gradient = TSR_OP_CROSS_ENTROPY_GRAD,
                                 .attrs = &attrs,
                                 .gradient_attrs = &attrs,
                                 .in = {logits, {2, {2, 3}, targets}},
                                 .out = {rows, rows},
                                 .operands = "01Bs",
                                 .results = "0",
                                 .gives = {logits}};
        check(&entropy);
    }
}

Test(gradients, kl_divergence) {
    const operand logits = {3, {2, 3, 11}, NULL, 2}, rows = {.rank = 2, .dim = {2, 3}};
    for (int i = 0; i < 4; i++) { /* with and without a teacher, with and without targets */
        const bool teacher = i & 1, some = i & 2;
        const tsr_kl_divergence_attrs attrs = {
            .struct_size = sizeof attrs, .ignore = -100, .temperature = teacher ? 2.5f : 0};
        const subject divergence = {.name = teacher ? "kl_divergence"
                                                    : "kl_divergence towards the uniform",
                                    .forward = TSR_OP_KL_DIVERGENCE,
                                    .gradient = TSR_OP_KL_DIVERGENCE_GRAD,
                                    .attrs = &attrs,
                                    .gradient_attrs = &attrs,
                                    .in = {logits,
                                           {some ? 2 : 0, {2, 3}, some ? targets : NULL, 0},
                                           {teacher ? 3 : 0, {2, 3, 11}, NULL, 2}},
                                    .out = {rows},
                                    .operands = "012s",
                                    .results = "0",
                                    .gives = {logits}};
        check(&divergence);
    }
}

/* cross entropy smoothed by e = (1 - e) cross entropy + e (KL(uniform || p) + log V), row by row;
 * and so are the gradients, without the constant. */
Test(gradients, label_smoothing_is_the_divergence_towards_the_uniform) {
    enum { R = 6, V = 11 };
    const tsr_kl_divergence_attrs kl = {.struct_size = sizeof kl, .ignore = -100};
    double *x = numbers(1, R * V, 3), loss[3][R], lse[R], slope[3][R * V], one = 1;
    int32_t ids[R];
    memcpy(ids, targets, sizeof ids);
    const double e = (double)0.1f;
    for (int k = 0; k < 3; k++) { /* hard targets, smoothed ones, divergence */
        const tsr_cross_entropy_attrs ce = {
            .struct_size = sizeof ce, .ignore = -100, .label_smoothing = k == 1 ? 0.1f : 0};
        const operand logits = {.rank = 2, .dim = {R, V}}, rows = {.rank = 1, .dim = {R}},
                      number = {.rank = 1, .dim = {1}};
        const operand of_targets = {.rank = 1, .dim = {R}, .ints = ids};
        const void *attrs = k < 2 ? (const void *)&ce : &kl;
        tsr_tensor tensors[6];
        void *data[6];
        size_t bytes[6];
        place(&logits, x, 0, tensors, data, bytes),
            place(&of_targets, NULL, 1, tensors, data, bytes);
        place(&rows, loss[k], 2, tensors, data, bytes), place(&rows, lse, 3, tensors, data, bytes);
        const tsr_op_id forward = k < 2 ? TSR_OP_CROSS_ENTROPY : TSR_OP_KL_DIVERGENCE,
                        back = k < 2 ? TSR_OP_CROSS_ENTROPY_GRAD : TSR_OP_KL_DIVERGENCE_GRAD;
        cr_assert_eq(direct_run(forward, attrs, 2, k < 2 ? 2 : 1, tensors, data, bytes), TSR_OK,
                     "%s", tsr_error_last());
        data[2] = NULL;
        if (k < 2)
            place(&rows, lse, 2, tensors, data, bytes);
        place(&number, &one, 3, tensors, data, bytes);
        place(&logits, slope[k], 4, tensors, data, bytes);
        cr_assert_eq(direct_run(back, attrs, 4, 1, tensors, data, bytes), TSR_OK, "%s",
                     tsr_error_last());
    }
    for (int r = 0; r < R; r++) {
        const double constant = targets[r] < 0 ? 0 : log((double)V);
        cr_expect_float_eq(loss[1][r], (1 - e) * loss[0][r] + e * (loss[2][r] + constant), 1e-12);
        cr_expect(targets[r] < 0 || loss[2][r] > 0);
    }
    for (int i = 0; i < R * V; i++)
        cr_expect_float_eq(slope[1][i], (1 - e) * slope[0][i] + e * slope[2][i], 1e-12);
    free(x);
}
