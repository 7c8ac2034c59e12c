/* train/step/forward.c - builds the forward pass of a training graph: the model's layers, with
 * parameters that are states, LoRA beside matrix products, and dropout; then the objective's head
 * and its loss. */
#include "train/step/forward.h"

#include "base/error.h"
#include "model/blocks/builder.h"
#include "tensor/shape.h"
#include "train/step/parameters.h"

#include <stdio.h>

typedef tsri_model_builder builder;

/* What the model's layers ask for, and what the answers are made from. */
typedef struct forward {
    tsri_model_learning learning; /* first, because the layers hand back its address */
    tsri_training_pass pass;
    const tsri_training_options *options;
} forward;

static const forward *forward_of(const builder *b) {
    return (const forward *)b->shape->learning;
}

static const tsri_training_options *options_of(const builder *b) {
    return forward_of(b)->options;
}

/* ---- parameters ---- */

static tsri_value parameter_leaf(builder *b, uint32_t parameter, const char *name, uint32_t rank,
                                 const tsr_dim *dims) {
    const bool rounded = options_of(b)->bf16 && rank == 2;
    return tsri_graph_leaf(
        b->graph, TSR_KIND_STATE,
        tsri_training_parameter_state(parameter, rounded ? TSRI_PART_ROUNDED : TSRI_PART_VALUE),
        name, rounded ? TSR_BF16 : TSR_F32, rank, dims);
}

static tsri_value parameter(builder *b, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    if (!tsri_training_weight_learns(b->weights, options_of(b), id))
        return TSRI_GRAPH_NONE;
    const tsr_dim dims[] = {tsri_tensor_const(w->dims[0]), tsri_tensor_const(w->dims[1])};
    return parameter_leaf(b, id, w->name, w->rank, dims);
}

static tsri_value adapter(builder *b, tsri_value x, uint32_t id) {
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    tsri_training_adapted runs[TSRI_TRAINING_RUNS];
    tsri_value d[TSRI_TRAINING_RUNS];
    const int n = options_of(b)->learns == TSRI_LEARNS_LORA
                      ? tsri_training_adapted_runs(b->weights, id, runs)
                      : 0;
    if (!n)
        return TSRI_GRAPH_NONE;
    const int64_t rank = options_of(b)->lora_rank;
    const tsr_linear_attrs linear = {
        .struct_size = sizeof linear, .trans_w = 1, .compute = options_of(b)->compute};
    const tsr_scale_attrs scale = {.struct_size = sizeof scale,
                                   .alpha = options_of(b)->lora_alpha / (float)rank};
    char name[96];
    snprintf(name, sizeof name, "%s/lora_A", w->name);
    const tsri_value A =
        parameter_leaf(b, tsri_training_adapter_parameter(b->weights, id, 0), name, 2,
                       (tsr_dim[]){tsri_tensor_const(n * rank), tsri_tensor_const(w->dims[1])});
    tsri_value u = tsri_graph_op1(b->graph, TSR_OP_LINEAR, &linear, (tsri_value[]){x, A}, 2);
    u = tsri_graph_op1(b->graph, TSR_OP_SCALE, &scale, &u, 1);
    for (int i = 0; i < n && u != TSRI_GRAPH_NONE; i++) {
        const uint32_t axis = tsri_graph_value_at(b->graph, u)->tensor.rank - 1;
        snprintf(name, sizeof name, "%s/lora_B.%d", w->name, i);
        const tsri_value B =
            parameter_leaf(b, tsri_training_adapter_parameter(b->weights, id, 1 + i), name, 2,
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

static tsri_value drop(builder *b, tsri_value x, tsri_model_dropped what) {
    const bool learns = forward_of(b)->pass == TSRI_PASS_LEARN;
    const float rate =
        what == TSRI_DROPPED_INNER ? options_of(b)->activation_dropout : options_of(b)->dropout;
    if (x == TSRI_GRAPH_NONE || !learns || rate <= 0)
        return x;
    const tsr_dropout_attrs attrs = {.struct_size = sizeof attrs, .site = b->sites++, .rate = rate};
    return tsri_graph_op1(b->graph, TSR_OP_DROPOUT, &attrs,
                          (tsri_value[]){x, tsri_model_input_of(b, TSRI_INPUT_SEED)}, 2);
}

/* ---- the loss ---- */

static void losses(builder *b, tsri_value logits) {
    const tsri_training_options *options = options_of(b);
    const bool learns = forward_of(b)->pass == TSRI_PASS_LEARN;
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

static void objective_of(builder *b) {
    const tsri_training_objective objective = options_of(b)->objective;
    const bool logits_only = forward_of(b)->pass == TSRI_PASS_LOGITS;
    tsri_value rows = b->y;
    tsri_graph_scope(b->graph, b->stack->layers - 1, "head");
    if (objective == TSRI_OBJECTIVE_CLASSIFY || objective == TSRI_OBJECTIVE_TOKENS) {
        rows = tsri_model_labels_of(b);
    } else {
        if (logits_only || objective == TSRI_OBJECTIVE_MASKED)
            rows = tsri_model_pick(b, rows, tsri_model_head_width(b->spec));
        rows = objective == TSRI_OBJECTIVE_MASKED
                   ? tsri_model_vocabulary(b, tsri_model_masked_rows(b, rows), TSR_ACT_NONE)
                   : tsri_model_logits(b, rows);
    }
    if (logits_only)
        tsri_graph_output(b->graph, TSRI_OUTPUT_LOGITS, "logits", rows);
    else
        losses(b, rows);
}

tsr_status tsri_training_forward(const tsri_model_weights *weights,
                                 const tsri_training_options *options, tsri_training_pass pass,
                                 int32_t steps, tsri_graph **out) {
    const forward forward = {.learning = {.steps = steps,
                                          .compute = options->compute,
                                          .gradients = pass == TSRI_PASS_LEARN,
                                          .parameter = parameter,
                                          .addend = adapter,
                                          .drop = drop},
                             .pass = pass,
                             .options = options};
    const tsri_model_shape shape = {.learning = &forward.learning};
    builder b;
    TRY(tsri_model_build_stacks(weights, &shape, &b));
    objective_of(&b);
    const tsr_status status = tsri_graph_status(b.graph);
    if (status != TSR_OK)
        tsri_graph_destroy(&b.graph);
    *out = b.graph;
    return status;
}
