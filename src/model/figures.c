/* What a model is and needs, in numbers and lines for people. */
#include "model/opened.h"

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tsri_model_measure(const tsri_model *model, tsri_model_figures *out) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_stack *stack = &spec->decoder;
    *out = (tsri_model_figures){.weight_bytes = tsri_model_weights_bytes(model->weights)};
    for (uint32_t id = 0; id < model->weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(model->weights, id);
        if (!weight || !weight->n_parts)
            continue;
        const uint64_t elements =
            (uint64_t)weight->dims[0] * (weight->rank == 2 ? (uint64_t)weight->dims[1] : 1);
        out->parameters += elements;
        if (weight->rank == 2 && id >= TSRI_WEIGHT_LAYERS)
            out->flops_per_token += 2 * (double)elements;
    }
    const double per_key = (double)stack->head_size + stack->value_size;
    out->flops_per_token += 2.0 * spec->vocab * spec->width;
    out->flops_per_past_token = 2.0 * stack->layers * stack->heads * per_key;
    out->kv_bytes_per_token = (uint64_t)stack->layers * (uint64_t)stack->kv_heads *
                              (uint64_t)per_key *
                              (uint64_t)tsri_tensor_dtype_info(model->kv_dtype)->bytes;
}

typedef struct describer {
    void (*line)(void *data, const char *name, const char *value);
    void *data;
} describer;

__attribute__((format(printf, 3, 4))) static void say(const describer *d, const char *name,
                                                      const char *format, ...) {
    char value[512];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    d->line(d->data, name, value);
}

static void describe_positions(const describer *d, const tsri_model_spec *spec) {
    static const char *const scalings[] = {"", ", linear scaling", ", dynamic scaling",
                                           ", llama3 scaling", ", yarn scaling"};
    const tsri_model_stack *stack = &spec->decoder;
    const tsri_model_rope *rope = &stack->rope;
    if (stack->positions == TSRI_POSITIONS_ROTARY)
        say(d, "positions", "rotary: %d of %d dimensions, theta %g%s%s", rope->rotary,
            stack->head_size, rope->theta, scalings[rope->scaling],
            rope->interleaved ? ", interleaved" : "");
    else
        say(d, "positions", stack->positions == TSRI_POSITIONS_LEARNED ? "learned" : "none");
}

static void describe_blocks(const describer *d, const tsri_model_spec *spec) {
    static const char *const activations[] = {"none", "relu", "gelu",   "gelu (tanh)",
                                              "silu", "tanh", "sigmoid"};
    const tsri_model_stack *stack = &spec->decoder;
    int32_t windowed = 0;
    for (int32_t i = 0; i < stack->layers; i++)
        windowed += tsri_model_layer_window(stack, i) != 0;
    say(d, "norm", "%s, %s the blocks, eps %g%s", stack->norm == TSR_NORM_RMS ? "rms" : "layer",
        stack->place == TSRI_NORM_PRE ? "before" : "after", (double)stack->norm_eps,
        stack->qk_norm ? "; of queries and keys too" : "");
    say(d, "feed-forward", "%s%s", stack->gated ? "gated " : "", activations[stack->activation]);
    say(d, "residual",
        stack->parallel ? "attention and feed-forward in parallel"
                        : "attention, then feed-forward");
    say(d, "biases", "%s%s%s", stack->qkv_bias ? "query/key/value " : "",
        stack->out_bias ? "output " : "",
        stack->mlp_bias                      ? "feed-forward"
        : stack->qkv_bias || stack->out_bias ? ""
                                             : "none");
    if (windowed)
        say(d, "sliding window", "%d keys in %d of %d layers", stack->window, windowed,
            stack->layers);
    say(d, "output matrix", spec->tied ? "the embedding" : "its own");
}

tsr_status tsr_model_describe(const tsr_model *model,
                              void (*line)(void *data, const char *name, const char *value),
                              void *data) {
    const tsri_model *inner = tsri_model_of(model);
    const describer d = {.line = line, .data = data};
    const tsri_model_weight *matrix =
        tsri_model_weight_at(inner->weights, tsri_model_weight_of(0, TSRI_ROLE_QKV));
    describe_positions(&d, &inner->spec);
    describe_blocks(&d, &inner->spec);
    say(&d, "matrices kept as", "%s", tsri_tensor_dtype_name(matrix->dtype));
    say(&d, "keys and values kept as", "%s", tsri_tensor_dtype_name(inner->kv_dtype));
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
