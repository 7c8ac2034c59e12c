/* model/blocks_training.c - what the blocks of a training graph have beside: parameters that are
 * states, dropout, LoRA, keys of the run itself, the loss. */
#include "model/builder.h"

#include "model/form.h"
#include "tensor/shape.h"

#include <stdio.h>

typedef tsri_model_builder builder;

static const tsri_training_options *options_of(const builder *b) {
    return b->shape->form->options;
}

/* ---- parameters ---- */

uint32_t tsri_model_parameter_state(uint32_t parameter, tsri_model_parameter_part part) {
    return parameter * TSRI_PARTS + part;
}

uint32_t tsri_model_adapter_parameter(const tsri_model_weights *weights, uint32_t id, int part) {
    return weights->count + id * TSRI_ADAPTER_PARTS + (uint32_t)part;
}

int tsri_model_adapted_runs(const tsri_model_weights *weights, uint32_t id,
                            tsri_model_adapted runs[TSRI_MODEL_MAX_PARTS]) {
    const tsri_model_weight *w = tsri_model_weight_at(weights, id);
    int n = 0;
    if (id < TSRI_WEIGHT_LAYERS || !w || w->rank != 2)
        return 0;
    for (int i = 0; i < w->n_parts; i++) {
        const tsri_model_part *part = &w->parts[i];
        if (!n || runs[n - 1].array != part->array)
            runs[n++] = (tsri_model_adapted){.array = part->array};
        runs[n - 1].rows += part->rows;
    }
    return n;
}

bool tsri_model_learns(const tsri_model_weights *weights, const tsri_training_options *options,
                       uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(weights, id);
    if (!w || !w->n_parts || (id == TSRI_WEIGHT_HEAD_BIAS && weights->spec->head_bias_fixed))
        return false;
    return options->learns == TSRI_LEARNS_ALL ||
           (options->learns == TSRI_LEARNS_HEAD && id >= TSRI_WEIGHT_HEAD &&
            id <= TSRI_WEIGHT_LABEL_BIAS);
}

static tsri_value parameter_leaf(builder *b, uint32_t parameter, const char *name, uint32_t rank,
                                 const tsr_dim *dims) {
    const bool rounded = options_of(b)->bf16 && rank == 2;
    return tsri_graph_leaf(
        b->graph, TSR_KIND_STATE,
        tsri_model_parameter_state(parameter, rounded ? TSRI_PART_ROUNDED : TSRI_PART_VALUE), name,
        rounded ? TSR_BF16 : TSR_F32, rank, dims);
}

tsri_value tsri_model_parameter_leaf(builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    if (!b->shape->form || !tsri_model_learns(b->weights, options_of(b), id))
        return TSRI_GRAPH_NONE;
    const tsr_dim dims[] = {tsri_tensor_const(w->dims[0]), tsri_tensor_const(w->dims[1])};
    return parameter_leaf(b, id, w->name, w->rank, dims);
}

tsri_value tsri_model_adapter(builder *b, tsri_value x, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    tsri_model_adapted runs[TSRI_MODEL_MAX_PARTS];
    tsri_value d[TSRI_MODEL_MAX_PARTS];
    const int n = b->shape->form && options_of(b)->learns == TSRI_LEARNS_LORA
                      ? tsri_model_adapted_runs(b->weights, id, runs)
                      : 0;
    if (!n)
        return TSRI_GRAPH_NONE;
    const int64_t rank = options_of(b)->lora_rank;
    const tsr_linear_attrs linear = {.struct_size = sizeof linear, .trans_w = 1};
    const tsr_scale_attrs scale = {.struct_size = sizeof scale,
                                   .alpha = options_of(b)->lora_alpha / (float)rank};
    char name[96];
    snprintf(name, sizeof name, "%s/lora_A", w->name);
    const tsri_value A =
        parameter_leaf(b, tsri_model_adapter_parameter(b->weights, id, 0), name, 2,
                       (tsr_dim[]){tsri_tensor_const(n * rank), tsri_tensor_const(w->dims[1])});
    tsri_value u = tsri_graph_op1(b->graph, TSR_OP_LINEAR, &linear, (tsri_value[]){x, A}, 2);
    u = tsri_graph_op1(b->graph, TSR_OP_SCALE, &scale, &u, 1);
    for (int i = 0; i < n && u != TSRI_GRAPH_NONE; i++) {
        const uint32_t axis = tsri_graph_value_at(b->graph, u)->tensor.rank - 1;
        snprintf(name, sizeof name, "%s/lora_B.%d", w->name, i);
        const tsri_value B =
            parameter_leaf(b, tsri_model_adapter_parameter(b->weights, id, 1 + i), name, 2,
                           (tsr_dim[]){tsri_tensor_const(runs[i].rows), tsri_tensor_const(rank)});
        tsri_value own = n == 1 ? u : tsri_graph_slice(b->graph, u, axis, i * rank, rank);
        own = n == 1 ? u : tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &own, 1);
        d[i] = tsri_graph_op1(b->graph, TSR_OP_LINEAR, &linear, (tsri_value[]){own, B}, 2);
    }
    if (u == TSRI_GRAPH_NONE)
        return u;
    return n == 1 ? d[0] : tsri_graph_op1(b->graph, TSR_OP_CONCAT, NULL, d, (uint32_t)n);
}

/* ---- dropout ---- */

static tsri_value drop(builder *b, tsri_value x, float rate) {
    if (x == TSRI_GRAPH_NONE || rate <= 0)
        return x;
    const tsr_dropout_attrs attrs = {.struct_size = sizeof attrs, .site = b->sites++, .rate = rate};
    return tsri_graph_op1(b->graph, TSR_OP_DROPOUT, &attrs,
                          (tsri_value[]){x, tsri_model_input_of(b, TSRI_INPUT_SEED)}, 2);
}

static bool drops(const builder *b) {
    return b->shape->form && b->shape->form->pass == TSRI_PASS_LEARN;
}

tsri_value tsri_model_drop(builder *b, tsri_value x) {
    return drops(b) ? drop(b, x, options_of(b)->dropout) : x;
}

tsri_value tsri_model_drop_inner(builder *b, tsri_value x) {
    return drops(b) ? drop(b, x, options_of(b)->activation_dropout) : x;
}

/* ---- parts of a layer ---- */

tsri_value tsri_model_inner(builder *b, tsri_value x, uint32_t up) {
    const tsri_value product = tsri_model_linear(b, x, up, TSR_ACT_NONE, TSRI_GRAPH_NONE);
    const tsr_activation_attrs attrs = {.struct_size = sizeof attrs,
                                        .activation = b->stack->activation};
    return tsri_model_drop_inner(
        b, b->stack->gated ? tsri_graph_op1(b->graph, TSR_OP_GLU, &attrs, &product, 1)
                           : tsri_graph_activate(b->graph, b->stack->activation, product));
}

/* [B,T,H*Dv] of [B,T,H,Dv]; with the lse that the backward pass reads. */
static tsri_value attend(builder *b, const tsr_attention_attrs *attrs, const tsri_value *in) {
    tsri_value out[2];
    const bool learns = b->shape->form->pass == TSRI_PASS_LEARN;
    tsri_graph_op(b->graph, TSR_OP_ATTENTION, attrs, in, 9, learns ? 2 : 0, out);
    const tsr_dim merged[] = {tsri_model_B(), b->T,
                              tsri_tensor_const((int64_t)b->stack->heads * b->stack->value_size)};
    return tsri_graph_reshape(b->graph, out[0], 3, merged);
}

tsri_value tsri_model_own_attention(builder *b, int32_t layer, tsri_value q, tsri_value k,
                                    tsri_value v, tsri_value relative) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .causal = b->stack->causal,
                                       .window = (uint32_t)tsri_model_layer_window(b->stack, layer),
                                       .scale = b->stack->attention_scale};
    tsri_model_stage(b, layer, "rope");
    q = tsri_model_rotated(b, q);
    k = tsri_model_rotated(b, k);
    tsri_model_stage(b, layer, "attention");
    const tsri_value in[] = {q,
                             k,
                             v,
                             TSRI_GRAPH_NONE,
                             tsri_model_input_of(b, TSRI_INPUT_LEN),
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             relative};
    return attend(b, &attrs, in);
}

tsri_value tsri_model_source_attention(builder *b, int32_t layer, tsri_value q, tsri_value k,
                                       tsri_value v) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .scale = b->stack->attention_scale};
    tsri_model_stage(b, layer, "cross_attention");
    const tsri_value in[] = {q,
                             k,
                             v,
                             TSRI_GRAPH_NONE,
                             tsri_model_input_of(b, TSRI_INPUT_SOURCE_LEN),
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE};
    return attend(b, &attrs, in);
}

tsri_value tsri_model_learned_relative(builder *b) {
    const uint32_t id = tsri_model_stack_weight(b->stack, TSRI_STACK_RELATIVE_TABLE);
    const tsri_value table = tsri_model_parameter_leaf(b, id);
    if (table == TSRI_GRAPH_NONE)
        return tsri_model_weight_leaf(b, tsri_model_stack_weight(b->stack, TSRI_STACK_RELATIVE));
    const bool own = b->stack->side == TSRI_SIDE_DECODER && b->spec->encoder.layers;
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs};
    tsri_graph_scope(b->graph, -1, "relative");
    const tsri_value rows =
        tsri_graph_op1(b->graph, TSR_OP_EMBED, &attrs,
                       (tsri_value[]){table, tsri_model_input_of(b, own ? TSRI_INPUT_OWN_BUCKETS
                                                                        : TSRI_INPUT_BUCKETS)},
                       2);
    const tsri_value turned = tsri_graph_permute(b->graph, rows, (uint32_t[]){1, 0});
    return tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &turned, 1);
}

/* ---- the loss ---- */

static void losses(builder *b, tsri_value logits) {
    const tsri_training_options *options = options_of(b);
    const bool learns = b->shape->form->pass == TSRI_PASS_LEARN;
    const tsr_cross_entropy_attrs hard = {.struct_size = sizeof hard,
                                          .ignore = TSRI_TRAINING_IGNORE,
                                          .label_smoothing =
                                              learns ? options->label_smoothing : 0.0f};
    const tsr_kl_divergence_attrs soft = {.struct_size = sizeof soft,
                                          .ignore = TSRI_TRAINING_IGNORE,
                                          .temperature = options->temperature};
    if (logits == TSRI_GRAPH_NONE)
        return;
    const tsr_tensor t = tsri_graph_value_at(b->graph, logits)->tensor;
    const tsri_value targets = tsri_graph_leaf(b->graph, TSR_KIND_INPUT, TSRI_INPUT_TARGETS,
                                               "targets", TSR_I32, t.rank - 1, t.dim);
    tsri_value out[2];
    tsri_graph_scope(b->graph, -1, "loss");
    tsri_graph_op(b->graph, TSR_OP_CROSS_ENTROPY, &hard, (tsri_value[]){logits, targets}, 2, 0,
                  out);
    tsri_graph_output(b->graph, TSRI_OUTPUT_HARD, "hard", out[0]);
    if (options->kl <= 0 || (options->teacher && !learns))
        return;
    const tsri_value in[] = {logits, targets,
                             options->teacher
                                 ? tsri_graph_leaf(b->graph, TSR_KIND_INPUT, TSRI_INPUT_TEACHER,
                                                   "teacher", TSR_F32, t.rank, t.dim)
                                 : TSRI_GRAPH_NONE};
    tsri_graph_output(b->graph, TSRI_OUTPUT_SOFT, "soft",
                      tsri_graph_op1(b->graph, TSR_OP_KL_DIVERGENCE, &soft, in, 3));
}

void tsri_model_objective(builder *b) {
    const tsri_training_objective objective = options_of(b)->objective;
    const bool logits_only = b->shape->form->pass == TSRI_PASS_LOGITS;
    tsri_value rows = b->y;
    tsri_graph_scope(b->graph, b->stack->layers - 1, "head");
    if (objective == TSRI_OBJECTIVE_CLASSIFY) {
        const tsr_pool_attrs first = {.struct_size = sizeof first, .kind = TSR_POOL_FIRST};
        rows = tsri_model_label_rows(
            b, tsri_graph_op1(b->graph, TSR_OP_POOL, &first,
                              (tsri_value[]){b->y, tsri_model_input_of(b, TSRI_INPUT_LEN)}, 2));
    } else {
        if (logits_only || objective == TSRI_OBJECTIVE_MASKED)
            rows = tsri_model_pick(b, rows, tsri_model_head_width(b->spec));
        if (objective == TSRI_OBJECTIVE_MASKED)
            rows = tsri_model_masked_rows(b, rows);
        const tsr_scale_attrs scale = {.struct_size = sizeof scale, .alpha = b->spec->head_scale};
        if (b->spec->head_scale != 1 && objective != TSRI_OBJECTIVE_MASKED)
            rows = tsri_graph_op1(b->graph, TSR_OP_SCALE, &scale, &rows, 1);
        rows = tsri_model_vocabulary(b, rows);
    }
    if (logits_only)
        tsri_graph_output(b->graph, TSRI_OUTPUT_LOGITS, "logits", rows);
    else
        losses(b, rows);
}
