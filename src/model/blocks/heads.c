/* model/blocks/heads.c - what is computed from the last hidden states: logits and what is found in
 * them, vectors, labels. */
#include "model/blocks/builder.h"

static tsri_value mark(tsri_model_builder *b, tsri_model_output id, const char *name,
                       tsri_value value) {
    tsri_graph_output(b->graph, id, name, value);
    return value;
}

/* Finds what the host asked for in logits [N, V]. */
static void search(tsri_model_builder *b, tsri_value logits) {
    const tsri_model_shape *shape = b->shape;
    if (shape->logits)
        mark(b, TSRI_OUTPUT_LOGITS, "logits", logits);
    if (shape->argmax)
        mark(b, TSRI_OUTPUT_ARGMAX, "argmax",
             tsri_graph_op1(b->graph, TSR_OP_ARGMAX, NULL, &logits, 1));
    if (!shape->top_k)
        return;
    enum { LSE = 4 };
    const tsr_topk_attrs attrs = {.struct_size = sizeof attrs, .k = (uint32_t)shape->top_k};
    tsri_value out[3] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
    tsri_graph_op(b->graph, TSR_OP_TOPK, &attrs, &logits, 1, shape->drawn ? 0 : LSE, out);
    if (shape->drawn) {
        const tsri_value in[] = {out[0], out[1], tsri_model_input_of(b, TSRI_INPUT_DRAW_RATE),
                                 tsri_model_input_of(b, TSRI_INPUT_DRAW)};
        mark(b, TSRI_OUTPUT_DRAWN, "drawn", tsri_graph_op1(b->graph, TSR_OP_SAMPLE, NULL, in, 4));
        return;
    }
    mark(b, TSRI_OUTPUT_TOP_LOGITS, "top.logits", out[0]);
    mark(b, TSRI_OUTPUT_TOP_IDS, "top.ids", out[1]);
    mark(b, TSRI_OUTPUT_TOP_LSE, "top.lse", out[2]);
}

/* The product with the output matrix, with the bias that a tied matrix may also have. */
tsri_value tsri_model_vocabulary(tsri_model_builder *b, tsri_value rows,
                                 tsr_activation activation) {
    const bool apart =
        b->shape->learning != NULL; /* the backward pass reads what it is applied to */
    const uint32_t id = b->spec->tied ? TSRI_WEIGHT_EMBED : TSRI_WEIGHT_HEAD;
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs,
                                    .trans_w = 1,
                                    .activation = apart ? TSR_ACT_NONE : activation,
                                    .compute = tsri_model_products(b, id)};
    const tsri_value in[] = {rows, tsri_model_weight_leaf(b, id),
                             tsri_model_weight_leaf(b, TSRI_WEIGHT_HEAD_BIAS)};
    const tsri_value y = tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, in, 3);
    return apart ? tsri_graph_activate(b->graph, activation, y) : y;
}

tsri_value tsri_model_logits(tsri_model_builder *b, tsri_value rows) {
    const float scale = b->spec->head_scale, cap = b->spec->logit_cap;
    if (cap == 0)
        return tsri_model_vocabulary(b, tsri_model_scaled(b, rows, scale), TSR_ACT_NONE);
    rows = tsri_model_scaled(b, rows, scale / cap);
    return tsri_model_scaled(b, tsri_model_vocabulary(b, rows, TSR_ACT_TANH), cap);
}

void tsri_model_output_heads(tsri_model_builder *b) {
    const tsri_model_shape *shape = b->shape;
    const tsri_value rows = b->picked ? b->y : tsri_model_pick(b, b->y, b->spec->width);
    if (!shape->logits && !shape->argmax && !shape->top_k)
        return;
    search(b, tsri_model_logits(b, rows));
}

tsri_value tsri_model_masked_rows(tsri_model_builder *b, tsri_value rows) {
    if (b->spec->bare_masked)
        return rows;
    const tsri_value dense = tsri_model_linear(b, rows, TSRI_WEIGHT_MASKED_DENSE,
                                               b->spec->masked_activation, TSRI_GRAPH_NONE);
    return tsri_model_norm(b, dense, TSRI_WEIGHT_MASKED_NORM);
}

static void masked(tsri_model_builder *b) {
    const tsri_model_shape *shape = b->shape;
    if (!shape->logits && !shape->argmax && !shape->top_k)
        return;
    const tsri_value rows = tsri_model_pick(b, b->y, b->spec->width);
    search(b, tsri_model_vocabulary(b, tsri_model_masked_rows(b, rows), TSR_ACT_NONE));
}

/* One row [C] of each sequence, from those of its tokens. */
static tsri_value pool_of(tsri_model_builder *b, tsri_value rows, tsr_pool kind) {
    const tsr_pool_attrs attrs = {.struct_size = sizeof attrs, .kind = kind};
    const tsri_value in[] = {rows, tsri_model_input_of(b, TSRI_INPUT_LEN)};
    return tsri_graph_op1(b->graph, TSR_OP_POOL, &attrs, in, 2);
}

static tsri_value pool(tsri_model_builder *b, tsr_pool kind) {
    return pool_of(b, b->y, kind);
}

static tsri_value pooled_rows(tsri_model_builder *b, tsri_value first) {
    return tsri_model_builder_has(b, TSRI_WEIGHT_POOLER)
               ? tsri_model_linear(b, first, TSRI_WEIGHT_POOLER, TSR_ACT_TANH, TSRI_GRAPH_NONE)
               : first;
}

/* The output of the classifier's own dense layer, with its norm if it has one. */
static tsri_value label_dense(tsri_model_builder *b, tsri_value rows) {
    rows = tsri_model_linear(b, rows, TSRI_WEIGHT_LABEL_DENSE, b->spec->label_activation,
                             TSRI_GRAPH_NONE);
    return b->spec->label_norm ? tsri_model_norm(b, rows, TSRI_WEIGHT_LABEL_NORM) : rows;
}

/* What the classifier's last matrix reads. A model without a dense layer of its own for labels has the
 * pooler's for those of sequences. */
static tsri_value label_rows(tsri_model_builder *b) {
    const tsri_model_spec *spec = b->spec;
    const bool dense = tsri_model_builder_has(b, TSRI_WEIGHT_LABEL_DENSE);
    if (dense && spec->label_late && !spec->label_tokens)
        return pool_of(b, label_dense(b, b->y), spec->label_pooling);
    const tsri_value rows =
        spec->label_tokens ? tsri_model_pick(b, b->y, spec->width) : pool(b, spec->label_pooling);
    return dense ? label_dense(b, rows) : spec->label_tokens ? rows : pooled_rows(b, rows);
}

tsri_value tsri_model_labels_of(tsri_model_builder *b) {
    return tsri_model_linear(b, tsri_model_drop(b, label_rows(b)), TSRI_WEIGHT_LABEL, TSR_ACT_NONE,
                             TSRI_GRAPH_NONE);
}

void tsri_model_encoder_heads(tsri_model_builder *b) {
    const tsri_model_shape *shape = b->shape;
    masked(b);
    if (shape->states)
        mark(b, TSRI_OUTPUT_STATES, "states", tsri_model_pick(b, b->y, b->spec->width));
    if (shape->vectors)
        mark(b, TSRI_OUTPUT_VECTORS, "vectors", pool(b, (tsr_pool)shape->pooling));
    if (shape->labels)
        mark(b, TSRI_OUTPUT_LABELS, "labels", tsri_model_labels_of(b));
    if (!shape->pooled && !shape->next)
        return;
    const tsri_value pooled = pooled_rows(b, pool(b, TSR_POOL_FIRST));
    if (shape->pooled)
        mark(b, TSRI_OUTPUT_POOLED, "pooled", pooled);
    if (shape->next)
        mark(b, TSRI_OUTPUT_NEXT, "next",
             tsri_model_linear(b, pooled, TSRI_WEIGHT_NEXT, TSR_ACT_NONE, TSRI_GRAPH_NONE));
}
