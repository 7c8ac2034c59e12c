/* The builder, lowering and the memory plan, without a device. */
#include "graph/graph.h"

#include "base/error.h"
#include "graph/ops.h"
#include "tensor/shape.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const tsr_dim B = {.factor = 1, .symbols = TSR_SYM_B},
                     T = {.factor = 1, .symbols = TSR_SYM_T};

static tsr_dim n(int64_t size) {
    return tsri_tensor_const(size);
}

static tsri_value input(tsri_graph *g, uint32_t id, uint32_t rank, const tsr_dim *dims) {
    return tsri_graph_leaf(g, TSR_KIND_INPUT, id, "x", TSR_F32, rank, dims);
}

Test(graph, a_leaf_asked_for_again_is_the_same_value) {
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsri_value a = input(g, 3, 2, (tsr_dim[]){B, n(8)});
    cr_assert_eq(input(g, 3, 2, (tsr_dim[]){B, n(8)}), a);
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    cr_assert_eq(input(g, 3, 2, (tsr_dim[]){B, n(9)}), TSRI_GRAPH_NONE);
    cr_assert_neq(tsri_graph_status(g), TSR_OK);
    tsri_graph_destroy(&g);
    cr_assert_null(g);
}

Test(graph, views_keep_storage_and_step_as_they_should) {
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 3, (tsr_dim[]){B, T, n(24)});
    const tsri_value heads = tsri_graph_split(g, tsri_graph_slice(g, x, 2, 8, 12), 2, 3, 4);
    const tsr_tensor *t = &tsri_graph_value_at(g, heads)->tensor;
    cr_assert_eq(t->offset, 8);
    cr_assert_eq(t->stride[2].factor, 4);
    cr_assert_eq(t->stride[1].factor, 24);
    cr_assert(tsri_tensor_same_dim(t->stride[0], tsri_tensor_times(T, n(24))));
    cr_assert_eq(tsri_graph_value_at(g, heads)->storage, x);
    const tsri_value swapped =
        tsri_graph_expand(g, tsri_graph_permute(g, heads, (uint32_t[]){0, 2, 1, 3}), 2, n(5));
    t = &tsri_graph_value_at(g, swapped)->tensor;
    cr_assert_eq(t->rank, 5);
    cr_assert_eq(t->stride[2].factor, 0);
    cr_assert(tsri_tensor_same_dim(t->dim[3], T));
    const int64_t sizes[TSR_SYMBOLS] = {2, 7, 0, 0, 0};
    cr_assert_eq(tsri_tensor_extent(&tsri_graph_value_at(g, heads)->tensor, sizes),
                 4u * (13 * 24 + 20));
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    tsri_graph_destroy(&g);
}

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

static bool refuse_fused(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                         const tsr_op *op) {
    (void)data;
    (void)graph;
    (void)op;
    return !tsri_graph_op_find(node->id)->decompose;
}

static bool contains(const tsri_graph *g, tsr_op_id id) {
    for (size_t i = 0; i < tsri_graph_node_count(g); i++)
        if (tsri_graph_node_at(g, i)->id == id)
            return true;
    return false;
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
        {TSR_OP_LINEAR, TSR_GGML_Q5_0, 10, 64, 1, 0, "is q5_0 [10,64]"},
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
        {TSR_OP_LINEAR, TSR_GGML_Q2_K, 10, 256, 1, 0, "is q2_K [10,256]"}};
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

Test(graph, the_table_holds_each_op_once) {
    for (size_t i = 0; i < tsri_graph_op_count(); i++) {
        const tsri_graph_op_row *row = tsri_graph_op_at(i);
        cr_assert_eq(tsri_graph_op_find(row->id), row);
        cr_assert_eq(tsri_graph_op_named(row->name), row);
        cr_assert_not_null(row->infer);
        cr_assert_not_null(row->cost, "%s has no cost", row->name);
        cr_assert_leq(tsri_tensor_operands_of(row->id)->n_in, TSRI_GRAPH_MAX_OPERANDS);
    }
    cr_assert_null(tsri_graph_op_find((tsr_op_id)9999));
    cr_assert_null(tsri_graph_op_named("convolution"));
}

Test(graph, lowering_ends_in_primitives_and_keeps_outputs) {
    tsri_graph *g, *low;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 3, (tsr_dim[]){B, T, n(16)});
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F16, 2, (tsr_dim[]){n(24), n(16)});
    const tsri_value bias =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1, "b", TSR_F32, 1, (tsr_dim[]){n(24)});
    const tsr_glu_linear_attrs glu = {
        .struct_size = sizeof glu, .trans_w = 1, .activation = TSR_ACT_SILU};
    const tsri_value y = tsri_graph_op1(g, TSR_OP_GLU_LINEAR, &glu, (tsri_value[]){x, w, bias}, 3);
    const tsri_value heads = tsri_graph_split(g, y, 2, 3, 4);
    const tsr_attention_attrs attention = {
        .struct_size = sizeof attention, .causal = 1, .scale = 0.5f};
    const tsri_value z =
        tsri_graph_op1(g, TSR_OP_ATTENTION, &attention, (tsri_value[]){heads, heads, heads}, 3);
    tsri_graph_output(g, 7, "z", tsri_graph_reshape(g, z, 3, (tsr_dim[]){B, T, n(12)}));
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_graph_node_count(g), 2);
    cr_assert_eq(tsri_graph_lower(g, refuse_fused, NULL, &low), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < tsri_graph_node_count(low); i++)
        cr_assert_null(tsri_graph_op_find(tsri_graph_node_at(low, i)->id)->decompose);
    cr_assert(contains(low, TSR_OP_MATMUL) && contains(low, TSR_OP_SILU) &&
              contains(low, TSR_OP_SOFTMAX) && contains(low, TSR_OP_COPY));
    cr_assert_eq(tsri_graph_output_count(low), 1);
    const tsr_tensor *out = &tsri_graph_value_at(low, tsri_graph_output_at(low, 0)->value)->tensor;
    cr_assert_eq(out->rank, 3);
    cr_assert(tsri_tensor_same_dim(out->dim[2], n(12)));
    /* The heads' results lie by head; what stands for attention's storage lies by token. */
    const tsri_graph_value *whole = tsri_graph_value_at(
        low, tsri_graph_value_at(low, tsri_graph_output_at(low, 0)->value)->storage);
    cr_assert(tsri_tensor_is_packed(&whole->tensor) && whole->tensor.rank == 4);
    cr_assert(tsri_tensor_same_dim(whole->tensor.dim[1], T) &&
              tsri_tensor_same_dim(whole->tensor.dim[2], n(3)));
    tsri_graph_destroy(&g);
    tsri_graph_destroy(&low);
}

/* A limit, an alpha or a shift goes on to the op that follows the product. */
Test(graph, gates_keep_their_form_when_they_are_lowered) {
    const tsr_glu_linear_attrs forms[] = {
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_SILU, .limit = 7},
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_SILU, .alpha = 1.702f},
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_GELU, .shift = 1}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_graph *g, *low;
        tsri_graph_create(&g);
        const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(16)});
        const tsri_value w =
            tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 2, (tsr_dim[]){n(24), n(16)});
        tsri_graph_output(g, 0, "y",
                          tsri_graph_op1(g, TSR_OP_GLU_LINEAR, &forms[i], (tsri_value[]){x, w}, 2));
        cr_assert_eq(tsri_graph_lower(g, refuse_fused, NULL, &low), TSR_OK, "%s", tsr_error_last());
        const tsri_graph_node *last = tsri_graph_node_at(low, tsri_graph_node_count(low) - 1);
        const tsr_activation_attrs *attrs = last->attrs;
        cr_assert_eq(last->id, TSR_OP_GLU);
        cr_expect(attrs->activation == forms[i].activation && attrs->limit == forms[i].limit &&
                  attrs->alpha == forms[i].alpha && attrs->shift == forms[i].shift);
        tsri_graph_destroy(&g);
        tsri_graph_destroy(&low);
    }
    const tsr_activation_attrs wrong = {.struct_size = sizeof wrong, .limit = -1};
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(16)});
    cr_assert_eq(tsri_graph_op1(g, TSR_OP_GLU, &wrong, &x, 1), TSRI_GRAPH_NONE);
    cr_assert(strstr(tsr_error_last(), "glu: limit is -1"), "%s", tsr_error_last());
    tsri_graph_destroy(&g);
}

/* ---- norms joined to the products that read them ---- */

typedef struct joining {
    int together; /* so many questions are answered with yes */
    int asked;
    tsr_op_id last; /* the product that was asked about */
} joining;

static bool answer(void *data, const tsri_graph *graph, const tsri_graph_node *product,
                   const tsri_graph_node *norm, const tsr_op *together, const tsr_op *apart) {
    joining *j = data;
    const bool adds = product->in[0] != norm->out[0] && product->in[0] != norm->out[1];
    const uint32_t place = tsri_tensor_operands_of(product->id)->n_in - (adds ? 2 : 1);
    (void)graph;
    j->asked++;
    if (!adds)
        j->last = product->id;
    cr_expect_eq(together->n_in, place + 1);
    cr_expect_str_eq(tsri_tensor_operands_of(product->id)->in[place].name,
                     adds ? "residual" : "norm");
    cr_expect(together->in[place] && together->in[place]->rank == (adds ? 2 : 1));
    cr_expect(apart->n_in <= place || !apart->in[place]);
    return j->asked <= j->together;
}

/* x, normed, times w: by a product of an op, whose norm's result is also read as `readers` says: BY_PRODUCT by another product. */
enum { ALONE, BY_PRODUCT, BY_OTHERS, BY_HOST, AS_PART };
static tsri_graph *normed_product(tsr_op_id id, int readers) {
    static const tsr_norm_attrs norm = {
        .struct_size = sizeof norm, .norm = TSR_NORM_RMS, .eps = 0.25f};
    static const tsr_linear_attrs linear = {
        .struct_size = sizeof linear, .trans_w = 1, .activation = TSR_ACT_SILU};
    static const tsr_glu_linear_attrs gated = {
        .struct_size = sizeof gated, .trans_w = 1, .activation = TSR_ACT_SILU};
    const void *attrs = id == TSR_OP_LINEAR ? (const void *)&linear : (const void *)&gated;
    tsri_graph *g;
    tsri_graph_create(&g);
    tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(8)});
    const tsri_value gain =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1, (tsr_dim[]){n(8)});
    const int64_t inputs = readers == AS_PART ? 4 : 8;
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1, "w", TSR_F32, 2, (tsr_dim[]){n(6), n(inputs)});
    const tsri_value bias =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 2, "b", TSR_F32, 1, (tsr_dim[]){n(6)});
    x = tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){x, gain}, 2);
    if (readers == BY_HOST)
        tsri_graph_output(g, 1, "normed", x);
    if (readers == BY_OTHERS)
        tsri_graph_output(g, 1, "other", tsri_graph_op1(g, TSR_OP_SILU, NULL, &x, 1));
    if (readers == AS_PART)
        x = tsri_graph_slice(g, x, 1, 0, 4);
    if (readers == BY_PRODUCT)
        tsri_graph_output(g, 1, "other",
                          tsri_graph_op1(g, TSR_OP_LINEAR, &linear, (tsri_value[]){x, w}, 2));
    const tsri_value y = tsri_graph_op1(g, id, attrs, (tsri_value[]){x, w, bias}, 3);
    tsri_graph_output(g, 0, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

Test(graph, a_norm_joins_the_products_that_alone_read_it) {
    static const tsr_op_id products[] = {TSR_OP_LINEAR, TSR_OP_GLU_LINEAR};
    for (int i = 0; i < 2; i++)
        for (int readers = ALONE; readers <= AS_PART; readers++)
            for (int together = 0; together <= 2; together++) { /* all products, or none */
                const int n_products = readers == ALONE ? 1 : readers == BY_PRODUCT ? 2 : 0;
                joining j = {.together = together};
                tsri_graph *g = normed_product(products[i], readers), *joined, *low;
                cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK, "%s",
                             tsr_error_last());
                cr_expect_eq(j.asked, together < n_products ? together + 1 : n_products);
                const bool one = n_products && together >= n_products;
                cr_expect_eq(contains(joined, TSR_OP_RMS_NORM), !one);
                cr_expect_eq(tsri_graph_node_count(joined), tsri_graph_node_count(g) - one);
                cr_expect_eq(tsri_graph_output_count(joined), tsri_graph_output_count(g));
                for (int k = 0; one && k < n_products; k++) {
                    const tsri_graph_node *node = tsri_graph_node_at(joined, (size_t)k);
                    const float eps = node->id == TSR_OP_GLU_LINEAR
                                          ? ((const tsr_glu_linear_attrs *)node->attrs)->norm_eps
                                          : ((const tsr_linear_attrs *)node->attrs)->norm_eps;
                    cr_expect_eq(tsri_graph_value_at(joined, node->in[0])->id, 0);
                    cr_expect_float_eq(eps, 0.25, 0);
                }
                if (one) {
                    cr_expect_eq(j.last, products[i]);
                    /* what joins it comes apart again where no device takes both */
                    cr_assert_eq(tsri_graph_lower(joined, refuse_fused, NULL, &low), TSR_OK, "%s",
                                 tsr_error_last());
                    cr_expect(contains(low, TSR_OP_RMS_NORM) && contains(low, TSR_OP_MATMUL) &&
                              !contains(low, products[i]));
                    tsri_graph_destroy(&low);
                }
                tsri_graph_destroy(&joined);
                tsri_graph_destroy(&g);
            }
}

/* x += a w0; y = norm(x) w1: an add_norm between two products. */
static tsri_graph *added_product(bool first, tsr_norm kind, tsr_op_id before) {
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = kind, .eps = 0.25f};
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(8)}),
                     a = input(g, 1, 2, (tsr_dim[]){T, n(8)});
    const tsri_value gain =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1, (tsr_dim[]){n(8)});
    tsri_value w[2], sums[2];
    for (uint32_t i = 0; i < 2; i++)
        w[i] = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1 + i, "w", TSR_F32, 2, (tsr_dim[]){n(8), n(8)});
    const tsri_value addend = before == TSR_OP_LINEAR
                                  ? tsri_graph_op1(g, before, &attrs, (tsri_value[]){a, w[0]}, 2)
                                  : tsri_graph_op1(g, before, NULL, &a, 1);
    tsri_graph_op(g, TSR_OP_ADD_NORM, &norm,
                  (tsri_value[]){first ? addend : x, first ? x : addend, gain}, 3, 3, sums);
    tsri_graph_output(g, 0, "y",
                      tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){sums[1], w[1]}, 2));
    tsri_graph_output(g, 1, "x", sums[0]);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

Test(graph, an_add_norm_becomes_a_residual_and_a_norm) {
    for (int first = 0; first < 2; first++)
        for (int together = 0; together <= 2; together++) { /* both products have to be better so */
            joining j = {.together = together};
            tsri_graph *g = added_product(first, TSR_NORM_RMS, TSR_OP_LINEAR), *joined;
            cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK, "%s",
                         tsr_error_last());
            cr_expect_eq(j.asked, together ? 2 : 1);
            cr_expect_eq(contains(joined, TSR_OP_ADD_NORM), together < 2);
            cr_expect_eq(tsri_graph_node_count(joined), together < 2 ? 3 : 2);
            cr_expect_eq(tsri_graph_output_count(joined), 2);
            if (together == 2) {
                const tsri_graph_node *adds = tsri_graph_node_at(joined, 0),
                                      *product = tsri_graph_node_at(joined, 1);
                cr_expect_eq(adds->n_in, 4);
                cr_expect_eq(tsri_graph_value_at(joined, adds->in[3])->id, 0); /* x */
                cr_expect_eq(product->in[0], adds->out[0]);
                cr_expect_eq(tsri_graph_output_at(joined, 1)->value, adds->out[0]);
                cr_expect_eq(tsri_graph_value_at(joined, product->in[4])->id, 0); /* gain */
            }
            tsri_graph_destroy(&joined);
            tsri_graph_destroy(&g);
        }
    /* a norm with a mean, and a sum of what is no product, stay */
    for (int i = 0; i < 2; i++) {
        joining j = {.together = 9};
        tsri_graph *joined, *g = i ? added_product(false, TSR_NORM_RMS, TSR_OP_SILU)
                                   : added_product(false, TSR_NORM_LAYER, TSR_OP_LINEAR);
        cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK);
        cr_expect(j.asked == 0 && contains(joined, TSR_OP_ADD_NORM));
        tsri_graph_destroy(&joined);
        tsri_graph_destroy(&g);
    }
}

static bool pack_norms(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                       const tsr_op *with_views, const tsr_op *with_copies) {
    (void)graph;
    ++*(int *)data;
    cr_expect(!tsri_tensor_is_packed(with_views->in[0]) &&
              tsri_tensor_is_packed(with_copies->in[0]) && with_copies->in[0]->offset == 0);
    cr_expect(with_views->in[1] == with_copies->in[1]);
    return node->id == TSR_OP_RMS_NORM;
}

/* Heads of a product are a view with gaps: their norm may read a copy, what else reads it is as before. */
Test(graph, an_op_may_read_packed_copies) {
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = TSR_NORM_RMS};
    tsri_graph *g, *packed;
    int asked = 0;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(24)}),
                     gain = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1,
                                            (tsr_dim[]){n(4)}),
                     y = tsri_graph_op1(g, TSR_OP_SILU, NULL, &x, 1),
                     heads = tsri_graph_split(g, tsri_graph_slice(g, y, 1, 8, 12), 1, 3, 4),
                     leaf = tsri_graph_split(g, tsri_graph_slice(g, x, 1, 8, 12), 1, 3, 4);
    tsri_graph_output(g, 0, "heads",
                      tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){heads, gain}, 2));
    tsri_graph_output(g, 1, "leaf",
                      tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){leaf, gain}, 2));
    tsri_graph_output(g, 2, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_graph_pack_operands(g, pack_norms, &asked, &packed), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_eq(asked, 1); /* leaves have a memory of their own */
    cr_assert_eq(tsri_graph_node_count(packed), 4);
    const tsri_graph_node *copy = tsri_graph_node_at(packed, 1),
                          *normed = tsri_graph_node_at(packed, 2);
    cr_expect(copy->id == TSR_OP_COPY && normed->id == TSR_OP_RMS_NORM);
    cr_expect_eq(normed->in[0], copy->out[0]);
    cr_expect_eq(tsri_graph_output_count(packed), 3);
    tsri_graph_destroy(&packed);
    tsri_graph_destroy(&g);
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

/* No two values that live at the same time share a byte, and a chain needs no more than its two
 * widest neighbours. */
Test(graph, memory_is_shared_only_by_values_that_do_not_meet) {
    tsri_graph *g;
    tsri_graph_create(&g);
    tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(100)}), first = x;
    const tsr_scale_attrs scale = {.struct_size = sizeof scale, .alpha = 2};
    for (int i = 0; i < 10; i++) {
        x = tsri_graph_op1(g, TSR_OP_SCALE, &scale, &x, 1);
        if (i == 2)
            first = x; /* lives to the end */
    }
    const tsri_value last = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){x, first}, 2);
    tsri_graph_output(g, 0, "y", last);
    const tsr_bounds bounds = {.struct_size = sizeof bounds, .highest = {1, 7, 1, 1, 1}};
    bool *pinned = calloc(tsri_graph_value_count(g), sizeof *pinned);
    tsri_graph_memory memory;
    pinned[last] = true;
    cr_assert_eq(tsri_graph_plan_memory(g, &bounds, pinned, 64, &memory), TSR_OK);
    const uint64_t one = (7 * 100 * 4 + 63) / 64 * 64;
    cr_assert_eq(memory.bytes, 2 * one);
    cr_assert_neq(memory.origin[x], memory.origin[first]);
    cr_assert_eq(memory.origin[last], UINT64_MAX);
    for (size_t i = 0; i < tsri_graph_value_count(g); i++)
        cr_assert(memory.origin[i] == UINT64_MAX || memory.origin[i] % 64 == 0);
    tsri_graph_memory_clear(&memory);
    free(pinned);
    tsri_graph_destroy(&g);
}

Test(graph, costs_count_a_multiply_add_as_two) {
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(32)});
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 2, (tsr_dim[]){n(8), n(32)});
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){x, w}, 2);
    tsri_graph_op_store store;
    const int64_t sizes[TSR_SYMBOLS] = {1, 5, 1, 1, 1};
    const tsri_graph_cost cost =
        tsri_graph_op_linear.cost(tsri_graph_as_op(g, tsri_graph_node_at(g, 0), &store), sizes);
    cr_assert_float_eq(cost.flops, 2.0 * 5 * 32 * 8, 0.5);
    cr_assert_float_eq(cost.bytes, 4.0 * (5 * 32 + 32 * 8 + 5 * 8), 0.5);
    tsri_graph_destroy(&g);
}

/* Two parts: y = x + x, z = y * x by part 0; w = z + y, and a view of z as an output, by part 1. */
Test(graph, a_part_has_its_nodes_and_what_crosses) {
    const uint32_t part[] = {0, 0, 1, 1};
    tsri_graph *g, *first, *second;
    tsri_graph_crossing *crossings;
    size_t count;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 3, 2, (tsr_dim[]){B, n(8)}),
                     y = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){x, x}, 2),
                     z = tsri_graph_op1(g, TSR_OP_MUL, NULL, (tsri_value[]){y, x}, 2),
                     view = tsri_graph_split(g, z, 1, 2, 4),
                     w = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){z, y}, 2),
                     v = tsri_graph_op1(g, TSR_OP_COPY, NULL, &view, 1);
    tsri_graph_output(g, 0, "y", y);
    tsri_graph_output(g, 1, "w", w);
    tsri_graph_output(g, 2, "v", v);
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    cr_assert_eq(tsri_graph_find_crossings(g, part, &crossings, &count), TSR_OK);
    cr_assert_eq(count, 2, "%zu", count); /* each once, though z is read by two nodes */
    cr_expect(crossings[0].value == y && crossings[1].value == z);
    cr_expect(crossings[0].from == 0 && crossings[0].to == 1);
    cr_assert_eq(tsri_graph_cut(g, part, 0, crossings, count, &first), TSR_OK);
    cr_assert_eq(tsri_graph_cut(g, part, 1, crossings, count, &second), TSR_OK);
    cr_expect_eq(tsri_graph_node_count(first), 2);
    cr_assert_eq(tsri_graph_output_count(first), 3); /* y for the host, y and z for part 1 */
    cr_expect_eq(tsri_graph_output_at(first, 0)->id, 0);
    cr_expect_eq(tsri_graph_output_at(first, 1)->id, crossings[0].id);
    cr_expect_eq(tsri_graph_output_at(first, 2)->id, crossings[1].id);
    cr_expect_eq(tsri_graph_node_count(second), 2);
    cr_assert_eq(tsri_graph_output_count(second), 2);
    const tsri_graph_node *adds = tsri_graph_node_at(second, 0),
                          *copies = tsri_graph_node_at(second, 1);
    for (int i = 0; i < 2; i++) { /* of z and y */
        const tsri_graph_value *leaf = tsri_graph_value_at(second, adds->in[i]);
        cr_expect(leaf->tensor.kind == TSR_KIND_INPUT && leaf->id == crossings[1 - i].id);
    }
    const tsri_graph_value *viewed = tsri_graph_value_at(second, copies->in[0]);
    cr_expect(viewed->storage == adds->in[0] && viewed->tensor.rank == 3);
    free(crossings);
    tsri_graph_destroy(&first);
    tsri_graph_destroy(&second);
    tsri_graph_destroy(&g);
}
