/* model/describe.c - tsr_model_describe: what a model consists of, in lines for people. */
#include "model/model.h"

#include "base/error.h"
#include "base/structs.h"
#include "model/load/measure.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct describer {
    void (*line)(void *data, const char *name, const char *value);
    void *data;
} describer;

__attribute__((format(PRINTF, 3, 4))) static void say(const describer *d, const char *name,
                                                      const char *format, ...) {
    char value[512];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    d->line(d->data, name, value);
}

/* The stacks, and what is computed from the last hidden states. */
static void describe_parts(const describer *d, const tsri_model *model) {
    static const struct {
        uint32_t weight;
        const char *name;
    } heads[] = {{TSRI_WEIGHT_POOLER, "pooler"},
                 {TSRI_WEIGHT_NEXT, "next sentence"},
                 {TSRI_WEIGHT_LABEL, "classifier"}};
    static const char *const problems[] = {"one of", "any of", "regression to"};
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_stack *e = &spec->encoder;
    char text[256] = "";
    if (!e->layers)
        return;
    if (e->recurrent) {
        say(d, "encoder", "gated recurrent units in both directions: states of %d each",
            e->recurrent);
        return;
    }
    if (e->embeds_only) {
        say(d, "encoder", "a table: %d vectors of %d, one for each token", spec->vocab,
            spec->width);
        return;
    }
    if (spec->decoder.layers) {
        say(d, "encoder",
            "%d layers, %d heads of %d, feed-forward %d; reads %lld tokens of a vocabulary of %d",
            e->layers, e->heads, e->head_size, e->ffn, (long long)spec->source_context,
            spec->source_vocab);
        return;
    }
    if (tsri_model_has_masked(model->weights))
        snprintf(text, sizeof text, "masked LM");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (tsri_model_weight_at(model->weights, heads[i].weight))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                     heads[i].name);
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    if (label)
        snprintf(text + strlen(text), sizeof text - strlen(text), " (%s %lld labels%s)",
                 problems[spec->problem], (long long)label->dims[0],
                 spec->label_tokens ? ", of each token" : "");
    say(d, "heads", "%s", *text ? text : "none: hidden states alone");
}

static void describe_positions(const describer *d, const tsri_model_spec *spec) {
    static const char *const scalings[] = {[TSRI_SCALING_NONE] = "",
                                           [TSRI_SCALING_LINEAR] = ", linear scaling",
                                           [TSRI_SCALING_DYNAMIC] = ", dynamic scaling",
                                           [TSRI_SCALING_LLAMA3] = ", llama3 scaling",
                                           [TSRI_SCALING_YARN] = ", yarn scaling",
                                           [TSRI_SCALING_NTK] = ", ntk scaling",
                                           [TSRI_SCALING_LONGROPE] = ", longrope scaling"};
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    const tsri_model_rope *rope = &stack->rope;
    int32_t with[TSRI_ROTATION_LOCAL + 1] = {0};
    for (int32_t i = 0; i < stack->layers; i++)
        with[tsri_model_layer_rotation(stack, i)]++;
    if (stack->positions == TSRI_POSITIONS_ROTARY)
        say(d, "positions", "rotary: %d of %d dimensions, theta %g%s%s", rope->rotary,
            stack->head_size, rope->theta, scalings[rope->scaling],
            rope->interleaved ? ", interleaved" : "");
    if (rope->scaling == TSRI_SCALING_LONGROPE)
        say(d, "long factors", "in sessions of a context above %lld",
            (long long)rope->original_positions);
    if (with[TSRI_ROTATION_LOCAL])
        say(d, "local positions", "theta %g%s in %d of %d layers", stack->local_rope.theta,
            scalings[stack->local_rope.scaling], with[TSRI_ROTATION_LOCAL], stack->layers);
    if (stack->positions == TSRI_POSITIONS_ROTARY && with[TSRI_ROTATION_NONE])
        say(d, "without positions", "%d of %d layers", with[TSRI_ROTATION_NONE], stack->layers);
    if (stack->positions != TSRI_POSITIONS_ROTARY)
        say(d, "positions", "%s%s",
            stack->positions == TSRI_POSITIONS_LEARNED      ? "learned"
            : stack->positions == TSRI_POSITIONS_SINUSOIDAL ? "sinusoidal"
            : stack->positions == TSRI_POSITIONS_ALIBI      ? "ALiBi"
                                                            : "none",
            stack->relative_buckets ? "; a bias by distance"
            : stack->conv_taps      ? "; disentangled attention, a convolution beside layer 0"
            : stack->distance_span  ? "; disentangled attention"
                                    : "");
}

/* The parts of a recurrent stack; false if there are others: those of layers. */
static bool describe_other(const describer *d, const tsri_model_spec *spec) {
    if (spec->encoder.embeds_only)
        return true;
    if (!spec->decoder.recurrent)
        return false;
    say(d, "decoder", "gated recurrent units: a state of %d; additive attention over %d dimensions",
        spec->decoder.recurrent, spec->decoder.head_size);
    return true;
}

static void describe_blocks(const describer *d, const tsri_model_spec *spec, bool output) {
    static const char *const activations[] = {"none", "relu", "gelu",   "gelu (tanh)",
                                              "silu", "tanh", "sigmoid"};
    static const char *const places[] = {[TSRI_NORM_PRE] = "before",
                                         [TSRI_NORM_POST] = "after",
                                         [TSRI_NORM_ADDED] = "of what is added by",
                                         [TSRI_NORM_BOTH] = "before and after"};
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    int32_t windowed = 0, expert_layers = 0;
    for (int32_t i = 0; i < stack->layers; i++) {
        windowed += tsri_model_layer_window(stack, i) != 0;
        expert_layers += tsri_model_layer_has_experts(stack, i);
    }
    if (stack->kv_latent)
        say(d, "latent attention", "keys and values of a token from %d numbers, queries from %d",
            stack->kv_latent, stack->q_latent ? stack->q_latent : spec->width);
    say(d, "norm", "%s, %s the blocks, eps %g%s", stack->norm == TSR_NORM_RMS ? "rms" : "layer",
        places[stack->place], (double)stack->norm_eps,
        stack->qk_norm ? "; of queries and keys too" : "");
    say(d, "feed-forward", "%s%s", stack->gated ? "gated " : "", activations[stack->activation]);
    if (stack->gate_limit != 0 || stack->gate_alpha != 0 || stack->gate_shift != 0)
        say(d, "gates", "limit %g, alpha %g, shift %g", (double)stack->gate_limit,
            (double)(stack->gate_alpha != 0 ? stack->gate_alpha : 1), (double)stack->gate_shift);
    if (expert_layers) {
        char shared[64] = "";
        if (stack->shared_ffn)
            snprintf(shared, sizeof shared, ", and one of %d for all", stack->shared_ffn);
        say(d, "experts", "%d of %d of width %d for a token%s, in %d of %d layers",
            stack->experts_used, stack->experts, stack->expert_ffn, shared, expert_layers,
            stack->layers);
    }
    say(d, "residual", "%s",
        stack->one_norm   ? "attention and feed-forward in parallel, behind one norm"
        : stack->parallel ? "attention and feed-forward in parallel"
                          : "attention, then feed-forward");
    if (stack->branch_scale != 1 || spec->embed_scale != 1 || spec->head_scale != 1)
        say(d, "factors", "embedding %g, branches %g, logits %g", (double)spec->embed_scale,
            (double)stack->branch_scale, (double)spec->head_scale);
    say(d, "biases", "%s%s%s%s", stack->qkv_bias ? "query/key/value " : "",
        stack->out_bias ? "output " : "", stack->experts_bias ? "experts " : "",
        stack->mlp_bias                                             ? "feed-forward"
        : stack->qkv_bias || stack->out_bias || stack->experts_bias ? ""
                                                                    : "none");
    if (stack->sinks)
        say(d, "sinks", "one for each head");
    if (stack->score_cap != 0)
        say(d, "soft cap of scores", "%g", (double)stack->score_cap);
    if (spec->logit_cap != 0)
        say(d, "soft cap of logits", "%g", (double)spec->logit_cap);
    if (windowed)
        say(d, "sliding window", "%d keys in %d of %d layers", stack->window, windowed,
            stack->layers);
    if (stack->side == TSRI_SIDE_DECODER)
        say(d, "output matrix",
            spec->tied ? "the embedding"
            : output   ? "its own"
                       : "none: hidden states alone");
}

static const char *why_compute(const tsri_model_keeping *keeping, char *text, size_t size) {
    const tsr_model_compute compute = keeping->compute;
    if (compute == TSR_MODEL_COMPUTE_AUTO && keeping->slow_int8) {
        snprintf(text, size,
                 "auto: f32 for blocks, too, because %s has no fast dot products of bytes for them",
                 keeping->slow_int8);
        return text;
    }
    if (compute == TSR_MODEL_COMPUTE_AUTO && keeping->float_blocks) {
        snprintf(text, size, "auto: f32, because %s", keeping->float_blocks);
        return text;
    }
    return compute == TSR_MODEL_COMPUTE_AUTO
               ? "auto: int8 for blocks, which with q8 raised a model's perplexity by 0.50 % over "
                 "that of f32 weights (docs/performance.md); bf16 for weights in bf16 where every "
                 "device is faster at it; f32 for others"
           : compute == TSR_MODEL_COMPUTE_INT8
               ? "asked for; with q8 it raised a model's perplexity by 0.50 % over that of f32 "
                 "weights (docs/performance.md)"
           : compute == TSR_MODEL_COMPUTE_F16
               ? "asked for; in f32 where the device has neither matrix units nor half arithmetic"
           : compute == TSR_MODEL_COMPUTE_BF16
               ? "asked for; in f32 where the device has no fast instructions for bf16"
               : "asked for";
}

/* "q8_0 (10), f32 (2: ...)", and how products are formed from each dtype. */
static void describe_matrices(const describer *d, const tsri_model_weights *weights) {
    tsri_model_tally kinds[TSRI_MODEL_MAX_TALLIES];
    const size_t n = tsri_model_tally_matrices(weights, kinds);
    char kept[400] = "", products[400] = "", why[200];
    const tsr_dtype wanted = weights->keeping.dtype;
    for (size_t i = 0; i < n; i++) {
        const bool left = tsri_tensor_is_kept_blocks(wanted) && kinds[i].dtype != wanted,
                   blocks = tsri_tensor_is_kept_blocks(kinds[i].dtype);
        const char *name = tsri_tensor_dtype_name(kinds[i].dtype);
        const size_t at = strlen(kept), product = strlen(products);
        snprintf(kept + at, sizeof kept - at, "%s%s (%d%s)", i ? ", " : "", name, kinds[i].matrices,
                 !left    ? ""
                 : blocks ? ": the vocabulary"
                          : ": positions, and rows that are not multiples of 32");
        if (kinds[i].multiplied)
            snprintf(products + product, sizeof products - product, "%s%s of %s",
                     product ? ", " : "", tsri_model_compute_name(kinds[i].compute), name);
    }
    say(d, "matrices kept as", "%s", kept);
    say(d, "products", "%s (%s)", products, why_compute(&weights->keeping, why, sizeof why));
}

static tsr_status describe_model(const describer *d, const tsri_model *model) {
    if (model->family_by)
        say(d, "model_type", "missing; told by %s", model->family_by);
    describe_parts(d, model);
    if (!describe_other(d, &model->spec)) {
        describe_positions(d, &model->spec);
        describe_blocks(d, &model->spec, tsri_model_has_output(model->weights));
    }
    describe_matrices(d, model->weights);
    if (model->tasks.n) {
        tsri_bytes tasks = {0};
        TRY(tsri_model_tasks_list(&model->tasks, &tasks));
        say(d, "adapters by task", "%s", tasks.data);
        tsri_base_bytes_clear(&tasks);
    }
    if (model->weights->left_out.size)
        say(d, "left out", "%s", model->weights->left_out.data);
    if (model->spec.decoder.layers)
        say(d, "keys and values kept as", "%s", tsri_tensor_dtype_name(model->kv_dtype));
    return TSR_OK;
}

tsr_status tsr_model_describe(const tsr_model *model,
                              void (*line)(void *data, const char *name, const char *value),
                              void *data) {
    TRY(NEED(model));
    TRY(NEED(line));
    const tsri_model *inner = tsri_model_of(model);
    const describer d = {.line = line, .data = data};
    if (inner->weights) /* else it is a tokenizer alone */
        TRY(describe_model(&d, inner));
    if (!inner->tokenizer)
        return TSR_OK;
    tsri_bytes text = {0};
    TRY(tsri_text_describe(inner->tokenizer, &text));
    for (char *at = text.data, *next; at && *at; at = next) {
        char name[64];
        next = at + strcspn(at, "\n");
        if (*next)
            *next++ = 0;
        char *colon = strstr(at, ": ");
        if (!colon)
            continue;
        snprintf(name, sizeof name, "tokenizer %.*s", (int)(colon - at), at);
        line(data, name, colon + 2);
    }
    tsri_base_bytes_clear(&text);
    return TSR_OK;
}
