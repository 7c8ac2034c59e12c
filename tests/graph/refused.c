/* What ops refuse: the sentence says what was given and what was wanted. */
#include "graph/make.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Each row: what is asked, and a part of the sentence. */
Test(graph, refusals_say_what_was_wanted) {
    const struct {
        tsr_op_id id;
        uint32_t rank_a, rank_b;
        tsr_dim a[4], b[4];
        const char *fragment;
    } rows[] = {
        {TSR_OP_ADD, 2, 2, {n(4), n(3)}, {n(4), n(2)}, "elementwise: b is f32 [4,2]"},
        {TSR_OP_GATHER, 3, 1, {n(4), n(3), n(1)}, {n(4)}, "gather: x is f32 [4,3,1]; wanted [R,C]"},
        {TSR_OP_ADD, 1, 2, {n(4)}, {n(1), n(4)}, "no more dimensions than a"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsri_value in[] = {input(g, 0, rows[i].rank_a, rows[i].a),
                                 input(g, 1, rows[i].rank_b, rows[i].b)};
        cr_assert_eq(tsri_graph_op1(g, rows[i].id, NULL, in, 2), TSRI_GRAPH_NONE);
        cr_assert_eq(tsri_graph_status(g), TSR_E_ARGUMENT);
        cr_assert(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i, tsr_error_last());
        /* sticky: everything after does nothing */
        cr_assert_eq(tsri_graph_op1(g, TSR_OP_RELU, NULL, in, 1), TSRI_GRAPH_NONE);
        tsri_graph_destroy(&g);
    }
}

/* Losses, dropout and optimizers: a setting that is no such number, operands of other shapes. */
Test(graph, training_ops_refuse_what_they_cannot_mean) {
    const tsr_cross_entropy_attrs whole = {.struct_size = sizeof whole,
                                           .ignore = -1,
                                           .label_smoothing = 1},
                                  counted = {.struct_size = sizeof counted, .ignore = 3};
    const tsr_kl_divergence_attrs warm = {.struct_size = sizeof warm,
                                          .ignore = -1,
                                          .temperature = 2},
                                  cold = {
                                      .struct_size = sizeof cold, .ignore = -1, .temperature = -1};
    const tsr_dropout_attrs all = {.struct_size = sizeof all, .rate = 1};
    const tsr_sumsq_attrs far = {.struct_size = sizeof far, .first = 3, .parts = 3};
    const tsr_sgd_attrs fast = {.struct_size = sizeof fast, .momentum = 0.5f};
    const tsr_adamw_attrs adamw = {.struct_size = sizeof adamw};
    const tsr_activation_attrs none = {.struct_size = sizeof none, .activation = 99};
    enum { LOGITS, TARGETS, SEED, SUMS, P, OTHER, RATES, MISSING, N_VALUES };
    const struct {
        tsr_op_id id;
        const void *attrs;
        int in[5];
        uint32_t n_in;
        const char *fragment;
    } rows[] = {
        {TSR_OP_CROSS_ENTROPY, &whole, {LOGITS, TARGETS}, 2, "label smoothing is 1; wanted 0 <= e"},
        {TSR_OP_CROSS_ENTROPY, &counted, {LOGITS, TARGETS}, 2, "ignore is 3; wanted a negative"},
        {TSR_OP_CROSS_ENTROPY,
         &whole,
         {LOGITS, SEED},
         2,
         "targets is i32 [4]; wanted i32, one for each row"},
        {TSR_OP_KL_DIVERGENCE, &warm, {LOGITS, TARGETS}, 2, "temperature is 2; without a teacher"},
        {TSR_OP_KL_DIVERGENCE, &cold, {LOGITS, TARGETS, LOGITS}, 3, "temperature is -1; wanted"},
        {TSR_OP_KL_DIVERGENCE, &warm, {LOGITS, MISSING, P}, 3, "teacher is f32 [4]; wanted f32 of"},
        {TSR_OP_DROPOUT, &all, {LOGITS, SEED}, 2, "rate is 1; wanted 0 <= rate < 1"},
        {TSR_OP_SUMSQ,
         &far,
         {SUMS, P},
         2,
         "3 parts from place 3 on; at least 1 part is needed, and the state has 5"},
        {TSR_OP_SGD,
         &fast,
         {P, MISSING, OTHER, RATES},
         4,
         "momentum is 0.5, which needs a velocity"},
        {TSR_OP_ADAMW,
         &adamw,
         {P, OTHER, SUMS, OTHER, RATES},
         5,
         "v is f32 [5]; wanted f32 of p's"},
        {TSR_OP_ADAMW, &adamw, {P, RATES, OTHER, OTHER, RATES}, 5, "must be a state leaf"},
        {TSR_OP_GLU, &none, {LOGITS}, 1, "wanted f32 [..,2F]"},
        {TSR_OP_ACTIVATION_GRAD, &none, {P, OTHER}, 2, "activation 99 is not known"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsr_dim four = n(4), five = n(5);
        const tsri_value values[N_VALUES] = {
            input(g, 0, 3, (tsr_dim[]){B, T, n(7)}),
            tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "targets", TSR_I32, 2, (tsr_dim[]){B, T}),
            tsri_graph_leaf(g, TSR_KIND_INPUT, 2, "seed", TSR_I32, 1, &four),
            tsri_graph_leaf(g, TSR_KIND_STATE, 3, "sums", TSR_F32, 1, &five),
            tsri_graph_leaf(g, TSR_KIND_STATE, 4, "p", TSR_F32, 1, &four),
            tsri_graph_leaf(g, TSR_KIND_STATE, 5, "other", TSR_F32, 1, &four),
            input(g, 6, 1, &four),
            TSRI_GRAPH_NONE};
        tsri_value in[5], out[TSRI_GRAPH_MAX_OPERANDS];
        for (uint32_t k = 0; k < rows[i].n_in; k++)
            in[k] = values[rows[i].in[k]];
        tsri_graph_op(g, rows[i].id, rows[i].attrs, in, rows[i].n_in, 0, out);
        cr_expect_neq(tsri_graph_status(g), TSR_OK, "row %zu", i);
        cr_expect(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i, tsr_error_last());
        tsri_graph_destroy(&g);
    }
}

/* Weights of blocks, and what products may be formed from. */
Test(graph, block_weights_are_taken_in_whole_rows_alone) {
    const struct {
        tsr_op_id id;
        tsr_dtype dtype;
        int64_t rows, columns;
        uint32_t trans, compute;
        const char *fragment; /* NULL: taken */
    } rows[] = {
        {TSR_OP_LINEAR, TSR_GGML_Q8_0, 10, 64, 1, TSR_COMPUTE_F32, NULL},
        {TSR_OP_LINEAR, TSR_GGML_Q4_0, 10, 64, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_GLU_LINEAR, TSR_GGML_Q4_0, 10, 64, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_LINEAR, TSR_F16, 10, 64, 1, TSR_COMPUTE_F16, NULL},
        {TSR_OP_LINEAR, TSR_BF16, 10, 64, 1, TSR_COMPUTE_BF16, NULL},
        {TSR_OP_EMBED, TSR_GGML_Q8_0, 10, 64, 0, 0, NULL},
        {TSR_OP_LINEAR, TSR_GGML_Q8_0, 10, 48, 1, 0, "q8_0 [10,48]; wanted blocks along K"},
        {TSR_OP_LINEAR, TSR_GGML_Q8_0, 64, 32, 0, 0, "wanted blocks along K"},
        {TSR_OP_GLU_LINEAR, TSR_GGML_Q4_0, 64, 32, 0, 0, "glu_linear: the weight is q4_0"},
        {TSR_OP_LINEAR, TSR_GGML_Q5_0, 10, 64, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_LINEAR, TSR_I8, 10, 64, 1, 0, "is i8 [10,64]"},
        {TSR_OP_LINEAR, TSR_F32, 10, 64, 1, TSR_COMPUTE_INT8, "weight of int8 products is f32"},
        {TSR_OP_LINEAR, TSR_F32, 10, 64, 1, 4, "compute 4 is not known"},
        {TSR_OP_EMBED, TSR_GGML_Q8_0, 10, 40, 0, 0, "embed: the table is q8_0 [10,40]"},
        {TSR_OP_EMBED, TSR_GGML_Q6_K, 10, 256, 0, 0, NULL},
        {TSR_OP_EMBED, TSR_GGML_Q6_K, 10, 128, 0, 0, "embed: the table is q6_K"},
        {TSR_OP_LINEAR, TSR_GGML_Q4_K, 10, 512, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_LINEAR, TSR_GGML_Q4_K, 10, 320, 1, TSR_COMPUTE_INT8, "K a multiple of their size"},
        {TSR_OP_LINEAR, TSR_GGML_MXFP4, 10, 96, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_EMBED, TSR_GGML_MXFP4, 10, 96, 0, 0, NULL},
        {TSR_OP_LINEAR, TSR_GGML_MXFP4, 10, 48, 1, 0, "mxfp4 [10,48]; wanted blocks along K"},
        {TSR_OP_LINEAR, TSR_GGML_Q2_K, 10, 256, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_GLU_LINEAR, TSR_GGML_Q3_K, 10, 512, 1, 0, NULL},
        {TSR_OP_EMBED, TSR_GGML_IQ4_XS, 10, 256, 0, 0, NULL},
        {TSR_OP_LINEAR, TSR_GGML_IQ4_XS, 10, 128, 1, 0, "iq4_xs [10,128]; wanted blocks along K"},
        {TSR_OP_LINEAR, TSR_GGML_Q5_1, 10, 96, 1, TSR_COMPUTE_INT8, NULL},
        {TSR_OP_LINEAR, TSR_GGML_Q4_1, 10, 48, 1, 0, "q4_1 [10,48]; wanted blocks along K"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t k = rows[i].trans ? rows[i].columns : rows[i].rows;
        const tsr_linear_attrs linear = {
            .struct_size = sizeof linear, .trans_w = rows[i].trans, .compute = rows[i].compute};
        const tsr_glu_linear_attrs gated = {
            .struct_size = sizeof gated, .trans_w = linear.trans_w, .compute = linear.compute};
        const tsr_embed_attrs embed = {.struct_size = sizeof embed};
        const void *attrs =
            rows[i].id == TSR_OP_GLU_LINEAR ? (const void *)&gated : (const void *)&linear;
        const bool looks_up = rows[i].id == TSR_OP_EMBED;
        tsri_graph *g, *low;
        tsri_graph_create(&g);
        const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(k)});
        const tsri_value w = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", rows[i].dtype, 2,
                                             (tsr_dim[]){n(rows[i].rows), n(rows[i].columns)});
        const tsri_value ids = tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "ids", TSR_I32, 1, &T);
        const tsri_value y = looks_up
                                 ? tsri_graph_op1(g, rows[i].id, &embed, (tsri_value[]){w, ids}, 2)
                                 : tsri_graph_op1(g, rows[i].id, attrs, (tsri_value[]){x, w}, 2);
        if (!rows[i].fragment) {
            cr_assert_neq(y, TSRI_GRAPH_NONE, "row %zu: %s", i, tsr_error_last());
            /* what lacks a form without blocks stays whole */
            cr_assert_eq(tsri_graph_lower(g, refuse_fused, NULL, &low), TSR_OK);
            cr_assert_eq(contains(low, TSR_OP_LINEAR), !looks_up && rows[i].dtype >= TSR_GGML_Q4_0);
            tsri_graph_destroy(&low);
        } else {
            cr_assert_eq(y, TSRI_GRAPH_NONE, "row %zu", i);
            cr_assert(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i,
                      tsr_error_last());
        }
        tsri_graph_destroy(&g);
    }
}

Test(graph, a_norm_of_a_product_is_refused_for_what_it_is) {
    const struct {
        int64_t size;
        float eps;
        const char *fragment;
    } rows[] = {{7, 0, "linear: the norm is f32 [7]; wanted f32 [K] with x's K"},
                {8, -1, "linear: norm_eps is -1; wanted 0 or more"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsr_linear_attrs attrs = {
            .struct_size = sizeof attrs, .trans_w = 1, .norm_eps = rows[i].eps};
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsri_value none = TSRI_GRAPH_NONE, x = input(g, 0, 2, (tsr_dim[]){T, n(8)}),
                         w = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 2,
                                             (tsr_dim[]){n(6), n(8)}),
                         norm = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1, "norm", TSR_F32, 1,
                                                (tsr_dim[]){n(rows[i].size)});
        cr_assert_eq(
            tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){x, w, none, none, norm}, 5),
            none);
        cr_assert(strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i, tsr_error_last());
        tsri_graph_destroy(&g);
    }
}

/* Pages are of each sequence. */
Test(graph, pages_of_no_sequence_are_refused) {
    const tsr_dim state[] = {n(9), n(2), n(32), n(8)}, x[] = {n(2), n(3), n(2), n(8)};
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value in[] = {tsri_graph_leaf(g, TSR_KIND_STATE, 0, "state", TSR_F32, 4, state),
                             input(g, 1, 4, x),
                             tsri_graph_leaf(g, TSR_KIND_INPUT, 2, "past", TSR_I32, 1, x),
                             tsri_graph_leaf(g, TSR_KIND_INPUT, 3, "len", TSR_I32, 1, x),
                             TSRI_GRAPH_NONE,
                             tsri_graph_leaf(g, TSR_KIND_INPUT, 5, "pages", TSR_I32, 1, x)};
    tsri_graph_op(g, TSR_OP_KV_APPEND, NULL, in, 6, 0, NULL);
    cr_expect(tsri_graph_status(g) == TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "kv_append: pages is i32 [2]; wanted i32 [B,pages]"), "%s",
              tsr_error_last());
    tsri_graph_destroy(&g);
}

/* Sequence b has slot b where no slot is named, so there must be as many; named ones may be fewer. */
Test(graph, sequences_without_named_slots_have_slots_of_their_own) {
    static const struct {
        tsr_op_id id;
        const char *fragment;
    } rows[] = {
        {TSR_OP_ATTENTION, "attention: k is f32 [1,5,2,8]; wanted at least q's B"},
        {TSR_OP_ADDITIVE_ATTENTION, "additive_attention: k is f32 [1,5,8]; wanted at least"},
        {TSR_OP_KV_APPEND, "kv_append: the state is f32 [1,2,5,8]; wanted a slot for each"},
        {TSR_OP_QKV_APPEND, "qkv_append: the state of keys is f32 [1,2,5,8]; wanted a slot"}};
    const tsr_attention_attrs attention = {.struct_size = sizeof attention, .scale = 1};
    const tsr_rope_attrs rope = {.struct_size = sizeof rope};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int named = 0; named < 2; named++) {
            tsri_graph *g;
            tsri_graph_create(&g);
            const tsr_dim state[] = {n(1), n(2), n(5), n(8)}, B3[] = {n(3)};
            const tsri_value none = TSRI_GRAPH_NONE,
                             x = input(g, 0, 4, (tsr_dim[]){n(3), n(1), n(2), n(8)}),
                             k = input(g, 1, 4, (tsr_dim[]){n(1), n(5), n(2), n(8)}),
                             q3 = input(g, 2, 3, (tsr_dim[]){n(3), n(1), n(8)}),
                             k3 = input(g, 3, 3, (tsr_dim[]){n(1), n(5), n(8)}),
                             v = input(g, 4, 1, (tsr_dim[]){n(8)}),
                             ints = tsri_graph_leaf(g, TSR_KIND_INPUT, 5, "ints", TSR_I32, 1, B3),
                             keys = tsri_graph_leaf(g, TSR_KIND_STATE, 0, "k", TSR_F32, 4, state),
                             values = tsri_graph_leaf(g, TSR_KIND_STATE, 1, "v", TSR_F32, 4, state),
                             slot = named ? ints : none;
            const tsri_value of_attention[] = {x, k, k, none, none, slot},
                             additive[] = {q3, k3, v, k3, none, slot},
                             append[] = {keys, x, ints, ints, slot},
                             both[] = {keys, values, x, x, ints, ints, slot};
            const tsri_value *const in[] = {of_attention, additive, append, both};
            const void *const attrs[] = {&attention, NULL, NULL, &rope};
            const uint32_t n_in[] = {6, 6, 5, 7};
            tsri_value out[TSRI_GRAPH_MAX_OPERANDS];
            tsri_graph_op(g, rows[i].id, attrs[i], in[i], n_in[i], 0, out);
            cr_expect_eq(tsri_graph_status(g), named ? TSR_OK : TSR_E_ARGUMENT, "row %zu: %s", i,
                         tsr_error_last());
            cr_expect(named || strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i,
                      tsr_error_last());
            tsri_graph_destroy(&g);
        }
}

/* A scale of 0, which is what a program leaves out, would give each key the same share. */
Test(graph, attention_needs_a_scale) {
    const float scales[] = {0, NAN, INFINITY};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .scale = scales[i]};
        const tsri_value x = input(g, 0, 4, (tsr_dim[]){n(2), n(3), n(2), n(8)});
        cr_expect_eq(tsri_graph_op1(g, TSR_OP_ATTENTION, &attrs, (tsri_value[]){x, x, x}, 3),
                     TSRI_GRAPH_NONE);
        cr_expect_eq(tsri_graph_status(g), TSR_E_ARGUMENT);
        cr_expect(strstr(tsr_error_last(), "wanted the factor of the scores"), "%s",
                  tsr_error_last());
        tsri_graph_destroy(&g);
    }
}

/* Each row: a bias, and a part of the sentence; NULL: it is taken. 2 sequences of 3 queries in 4 heads, and 6
 * keys in 2. */
Test(graph, biases_repeat_sizes_of_1_alone) {
    const struct {
        tsr_op_id id;
        uint32_t rank;
        tsr_dim bias[4];
        const char *fragment;
    } rows[] = {
        {TSR_OP_ATTENTION, 4, {n(2), n(4), n(3), n(6)}, NULL},
        {TSR_OP_ATTENTION, 4, {n(1), n(1), n(3), n(6)}, NULL},
        {TSR_OP_ATTENTION, 4, {n(2), n(1), n(1), n(6)}, NULL},
        {TSR_OP_ATTENTION, 4, {n(1), n(4), n(3), n(1)}, NULL},
        {TSR_OP_ATTENTION, 4, {n(7), n(1), n(1), n(1)}, "attention: bias is f32 [7,1,1,1]; wanted"},
        {TSR_OP_ATTENTION, 4, {n(1), n(2), n(3), n(6)}, "f32 [B,H,T,S] with q's B, H and T and"},
        {TSR_OP_ATTENTION, 4, {n(1), n(1), n(6), n(3)}, "bias is f32 [1,1,6,3]"},
        {TSR_OP_ATTENTION, 4, {n(1), n(1), n(3), n(5)}, "k's S, or sizes of 1"},
        {TSR_OP_ATTENTION, 2, {n(3), n(6)}, "bias is f32 [3,6]"},
        {TSR_OP_ATTENTION_GRAD, 4, {n(2), n(4), n(3), n(6)}, NULL},
        {TSR_OP_ATTENTION_GRAD, 4, {n(1), n(1), n(3), n(6)}, NULL},
        {TSR_OP_ATTENTION_GRAD, 4, {n(1), n(1), n(3), n(5)}, "attention_grad: bias is f32 [1,1,3"},
        {TSR_OP_SOFTMAX, 4, {n(2), n(1), n(1), n(6)}, NULL},
        {TSR_OP_SOFTMAX, 1, {n(6)}, NULL},
        {TSR_OP_SOFTMAX,
         1,
         {n(5)},
         "softmax: bias is f32 [5]; wanted f32, sizes equal to x's, or 1"},
        {TSR_OP_SOFTMAX, 3, {n(2), n(3), n(6)}, "softmax: bias is f32 [2,3,6]"}};
    const tsr_attention_attrs attention = {.struct_size = sizeof attention, .scale = 1};
    const tsr_softmax_attrs softmax = {.struct_size = sizeof softmax};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsri_value none = TSRI_GRAPH_NONE,
                         q = input(g, 0, 4, (tsr_dim[]){n(2), n(3), n(4), n(8)}),
                         k = input(g, 1, 4, (tsr_dim[]){n(2), n(6), n(2), n(8)}),
                         lse = input(g, 2, 3, (tsr_dim[]){n(2), n(4), n(3)}),
                         x = input(g, 3, 4, (tsr_dim[]){n(2), n(4), n(3), n(6)}),
                         bias = input(g, 4, rows[i].rank, rows[i].bias);
        const tsri_value forward[] = {q, k, k, none, none, none, none, bias},
                         backward[] = {q, k, k, q, lse, q, none, none, bias},
                         plain[] = {x, none, none, bias};
        const bool is_softmax = rows[i].id == TSR_OP_SOFTMAX,
                   is_forward = rows[i].id == TSR_OP_ATTENTION;
        tsri_value out[TSRI_GRAPH_MAX_OPERANDS];
        tsri_graph_op(g, rows[i].id, is_softmax ? (const void *)&softmax : &attention,
                      is_softmax   ? plain
                      : is_forward ? forward
                                   : backward,
                      is_softmax   ? 4
                      : is_forward ? 8
                                   : 9,
                      0, out);
        cr_expect_eq(tsri_graph_status(g), rows[i].fragment ? TSR_E_ARGUMENT : TSR_OK,
                     "row %zu: %s", i, tsr_error_last());
        cr_expect(!rows[i].fragment || strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i,
                  tsr_error_last());
        tsri_graph_destroy(&g);
    }
}

/* As many keys as queries are S of a bias, and those of all pages; a source names each key. */
Test(graph, keys_are_counted_as_a_bias_and_a_source_count_them) {
    const tsr_dim S = {.factor = 1, .symbols = TSR_SYM_S};
    const struct {
        tsr_dim q[4], k[4], source[2], pages[2], bias[4]; /* none: a first size of 0 */
        const char *fragment;
    } rows[] = {
        {{B, T, n(4), n(8)}, {B, T, n(4), n(8)}, {{0}}, {{0}}, {B, n(4), T, S}, NULL},
        {{B, T, n(4), n(8)}, {B, S, n(4), n(8)}, {{0}}, {{0}}, {n(1), n(1), T, S}, NULL},
        {{B, T, n(4), n(8)}, {B, T, n(4), n(8)}, {{0}}, {{0}}, {B, n(4), S, T}, "bias is f32"},
        {{n(2), n(3), n(2), n(8)},
         {n(9), n(32), n(2), n(8)},
         {{0}},
         {n(2), n(3)},
         {n(1), n(1), n(3), n(96)},
         NULL},
        {{n(2), n(3), n(2), n(8)},
         {n(9), n(32), n(2), n(8)},
         {{0}},
         {n(2), n(3)},
         {n(1), n(1), n(3), n(32)},
         "bias is f32 [1,1,3,32]"},
        {{n(2), n(3), n(2), n(8)}, {n(5), n(6), n(2), n(8)}, {n(2), n(6)}, {{0}}, {{0}}, NULL},
        {{n(2), n(3), n(2), n(8)},
         {n(5), n(6), n(2), n(8)},
         {n(2), n(5)},
         {{0}},
         {{0}},
         "attention: source is i32 [2,5]; wanted i32 [B,S] with k's S"}};
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs, .scale = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        const tsri_value none = TSRI_GRAPH_NONE, q = input(g, 0, 4, rows[i].q),
                         k = input(g, 1, 4, rows[i].k);
        const tsri_value in[] = {
            q,
            k,
            k,
            none,
            none,
            none,
            rows[i].source[0].factor
                ? tsri_graph_leaf(g, TSR_KIND_INPUT, 2, "source", TSR_I32, 2, rows[i].source)
                : none,
            rows[i].bias[0].factor ? input(g, 3, 4, rows[i].bias) : none,
            none,
            none,
            rows[i].pages[0].factor
                ? tsri_graph_leaf(g, TSR_KIND_INPUT, 4, "pages", TSR_I32, 2, rows[i].pages)
                : none};
        tsri_graph_op1(g, TSR_OP_ATTENTION, &attrs, in, 11);
        cr_expect_eq(tsri_graph_status(g), rows[i].fragment ? TSR_E_ARGUMENT : TSR_OK,
                     "row %zu: %s", i, tsr_error_last());
        cr_expect(!rows[i].fragment || strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i,
                  tsr_error_last());
        tsri_graph_destroy(&g);
    }
}

/* What is done with a weight of blocks [32,96], or with its view. */
typedef tsri_value of_blocks(tsri_graph *g, tsri_value w);

static tsri_value copied(tsri_graph *g, tsri_value w) {
    return tsri_graph_op1(g, TSR_OP_COPY, NULL, &w, 1);
}

static tsri_value gathered(tsri_graph *g, tsri_value w) {
    const tsri_value index =
        tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "index", TSR_I32, 1, (tsr_dim[]){n(3)});
    return tsri_graph_op1(g, TSR_OP_GATHER, NULL, (tsri_value[]){w, index}, 2);
}

static tsri_value begun_inside(tsri_graph *g, tsri_value w) {
    return tsri_graph_slice(g, w, 1, 16, 64);
}

static tsri_value ended_inside(tsri_graph *g, tsri_value w) {
    return tsri_graph_slice(g, w, 1, 32, 48);
}

static tsri_value a_row_of_half_a_block(tsri_graph *g, tsri_value w) {
    return tsri_graph_slice(g, tsri_graph_reshape(g, w, 2, (tsr_dim[]){n(192), n(16)}), 0, 1, 3);
}

static tsri_value whole_blocks(tsri_graph *g, tsri_value w) {
    return tsri_graph_slice(g, tsri_graph_slice(g, w, 1, 32, 64), 0, 3, 5);
}

static tsri_value turned(tsri_graph *g, tsri_value w) {
    return tsri_graph_permute(g, w, (uint32_t[]){1, 0});
}

static tsri_value product_of_turned(tsri_graph *g, tsri_value w) {
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    const tsri_value in[] = {input(g, 2, 2, (tsr_dim[]){n(1), n(32)}), turned(g, w)};
    return tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, in, 2);
}

static tsri_value lookup_in_turned(tsri_graph *g, tsri_value w) {
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs};
    const tsri_value ids =
        tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "ids", TSR_I32, 1, (tsr_dim[]){n(3)});
    return tsri_graph_op1(g, TSR_OP_EMBED, &attrs, (tsri_value[]){turned(g, w), ids}, 2);
}

/* Experts [3,32,32], as they are or each turned. */
static tsri_value by_experts(tsri_graph *g, tsri_value w, bool each_turned) {
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    const tsri_value experts = tsri_graph_reshape(g, w, 3, (tsr_dim[]){n(3), n(32), n(32)}),
                     chosen = tsri_graph_leaf(g, TSR_KIND_INPUT, 1, "experts", TSR_I32, 2,
                                              (tsr_dim[]){n(2), n(1)});
    const tsri_value in[] = {
        input(g, 2, 3, (tsr_dim[]){n(2), n(1), n(32)}),
        each_turned ? tsri_graph_permute(g, experts, (uint32_t[]){0, 2, 1}) : experts, chosen};
    return tsri_graph_op1(g, TSR_OP_EXPERT_LINEAR, &attrs, in, 3);
}

static tsri_value product_of_experts(tsri_graph *g, tsri_value w) {
    return by_experts(g, w, false);
}

static tsri_value product_of_turned_experts(tsri_graph *g, tsri_value w) {
    return by_experts(g, w, true);
}

Test(graph, blocks_are_read_whole_and_along_their_rows) {
    static const struct {
        of_blocks *make;
        const char *fragment; /* NULL: taken */
    } rows[] = {
        {whole_blocks, NULL},
        {product_of_experts, NULL},
        {copied, "copy: x is q8_0 [32,96]; wanted numbers; cast blocks of q8_0 to f32 first"},
        {gathered, "gather: x is q8_0 [32,96]; wanted [R,C] of numbers; embed reads"},
        {begun_inside, "slice 16..80 of axis 1 of q8_0 [32,96] begins or ends inside a block"},
        {ended_inside, "slice 32..80 of axis 1 of q8_0 [32,96] begins or ends inside a block"},
        {a_row_of_half_a_block, "wanted whole blocks, of 32 elements each"},
        {product_of_turned, "linear: the weight is q8_0 [96,32]; wanted blocks along K"},
        {lookup_in_turned, "embed: the table is q8_0 [96,32]"},
        {product_of_turned_experts, "expert_linear: the weight is q8_0 [32,32]; wanted blocks"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_graph *g;
        tsri_graph_create(&g);
        rows[i].make(g, tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_GGML_Q8_0, 2,
                                        (tsr_dim[]){n(32), n(96)}));
        cr_expect_eq(tsri_graph_status(g), rows[i].fragment ? TSR_E_ARGUMENT : TSR_OK,
                     "row %zu: %s", i, tsr_error_last());
        cr_expect(!rows[i].fragment || strstr(tsr_error_last(), rows[i].fragment), "row %zu: %s", i,
                  tsr_error_last());
        tsri_graph_destroy(&g);
    }
}
