/* What ops refuse: the sentence says what was given and what was wanted. */
#include "graph/make.h"

#include "base/error.h"

#include <criterion/criterion.h>
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
