/* model/spec/spec.c - the defaults of a spec, the rules that its numbers must keep, and the sizes
 * that follow from it. */
#include "model/spec/spec.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void stack_defaults(tsri_model_stack *stack, tsri_model_side side) {
    stack->side = side;
    stack->causal = side == TSRI_SIDE_DECODER;
    stack->final_norm = true;
    stack->branch_scale = 1;
    stack->experts_scale = 1;
    stack->rope.magnitude = 1;
    stack->rope.share = 1;
    stack->rope.factor = 1;
    stack->local_rope = stack->rope;
}

void tsri_model_spec_defaults(tsri_model_spec *spec) {
    memset(spec, 0, sizeof *spec);
    spec->embed_scale = 1;
    spec->head_scale = 1;
    spec->label_pooling = TSR_POOL_FIRST;
    spec->bos = spec->pad = spec->decoder_start = spec->judged_yes = spec->judged_no = -1;
    stack_defaults(&spec->decoder, TSRI_SIDE_DECODER);
    stack_defaults(&spec->encoder, TSRI_SIDE_ENCODER);
}

static void clear_rope(tsri_model_rope *rope) {
    free((void *)rope->short_factors);
    free((void *)rope->long_factors);
    rope->short_factors = rope->long_factors = NULL;
}

static void clear_stack(tsri_model_stack *stack) {
    free((void *)stack->windowed);
    free((void *)stack->rotations);
    free((void *)stack->dense);
    stack->windowed = stack->rotations = stack->dense = NULL;
    clear_rope(&stack->rope);
    clear_rope(&stack->local_rope);
}

void tsri_model_spec_encode(tsri_model_spec *spec) {
    tsri_model_spec fresh;
    tsri_model_spec_defaults(&fresh);
    if (spec->encoder.layers) {
        clear_stack(&spec->decoder);
    } else {
        spec->encoder = spec->decoder;
        spec->encoder.side = TSRI_SIDE_ENCODER;
        spec->label_pooling = TSR_POOL_LAST;
    }
    spec->decoder = fresh.decoder;
    spec->tied = true; /* a tied output matrix in the files is passed over */
}

void tsri_model_spec_clear(tsri_model_spec *spec) {
    clear_stack(&spec->decoder);
    clear_stack(&spec->encoder);
    for (int32_t i = 0; spec->label_of && i < spec->labels; i++)
        free(spec->label_of[i]);
    free((void *)spec->label_of);
    spec->label_of = NULL;
}

const tsri_model_stack *tsri_model_main_stack(const tsri_model_spec *spec) {
    return spec->decoder.layers ? &spec->decoder : &spec->encoder;
}

int32_t tsri_model_stack_groups(const tsri_model_stack *stack) {
    return stack->groups ? stack->groups : stack->layers;
}

int32_t tsri_model_stack_width(const tsri_model_spec *spec, const tsri_model_stack *stack) {
    if (!stack->recurrent)
        return spec->width;
    return stack->side == TSRI_SIDE_ENCODER ? 2 * stack->recurrent : stack->recurrent;
}

int32_t tsri_model_head_width(const tsri_model_spec *spec) {
    const tsri_model_stack *decoder = &spec->decoder;
    return decoder->recurrent ? decoder->recurrent + decoder->value_size + spec->embed_width
                              : spec->width;
}

int32_t tsri_model_attention_layers(const tsri_model_stack *stack) {
    return stack->recurrent || stack->embeds_only ? 0 : stack->layers;
}

/* Checks that a part divides the whole: heads and width, key heads and heads. */
static tsr_status divides(const char *what, const char *part, int64_t n, const char *whole,
                          int64_t of) {
    if (n <= 0 || of % n != 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %" PRId64 " %s do not divide %" PRId64 " %s", what,
                              n, part, of, whole);
    return TSR_OK;
}

static tsr_status check_token(const tsri_model_spec *spec, const char *what, const char *name,
                              int32_t id) {
    if (id >= spec->vocab)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" is %" PRId32 "; vocab_size %" PRId32
                              " allows ids from 0 to %" PRId32,
                              what, name, id, spec->vocab, spec->vocab - 1);
    return TSR_OK;
}

static tsr_status check_rope(const tsri_model_stack *stack, const tsri_model_rope *rope,
                             const char *what) {
    if (rope->rotary % 2 != 0 || rope->rotary <= 0 || rope->rotary > stack->head_size ||
        rope->rotary > TSRI_MODEL_MAX_ROTARY)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %" PRId32 " rotary dimensions of a head of %" PRId32
                              "; an even number is needed, from 2 to the head's size "
                              "(at most %d)",
                              what, rope->rotary, stack->head_size, TSRI_MODEL_MAX_ROTARY);
    if (rope->scaling == TSRI_SCALING_DYNAMIC && rope->rotary <= 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: dynamic rope scaling needs more than 2 rotary dimensions", what);
    if (rope->scaling == TSRI_SCALING_LLAMA3 && !(rope->high_freq_factor > rope->low_freq_factor))
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: rope high_freq_factor %g must be greater than low_freq_factor %g",
            what, rope->high_freq_factor, rope->low_freq_factor);
    return TSR_OK;
}

static bool has_rotation(const tsri_model_stack *stack, tsri_model_rotation rotation) {
    for (int32_t i = 0; i < stack->layers; i++)
        if (tsri_model_layer_rotation(stack, i) == rotation)
            return true;
    return false;
}

static tsr_status check_stack(const tsri_model_spec *spec, const tsri_model_stack *stack,
                              const char *what) {
    if (!stack->layers || stack->embeds_only)
        return TSR_OK;
    TRY(divides(what, "key/value heads", stack->kv_heads, "attention heads", stack->heads));
    if (stack->groups)
        TRY(divides(what, "groups of layers", stack->groups, "layers", stack->layers));
    if (stack->experts_used > stack->experts)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: a token takes %" PRId32 " of %" PRId32
                              " experts; at most all of them are possible",
                              what, stack->experts_used, stack->experts);
    if (stack->positions == TSRI_POSITIONS_ROTARY)
        TRY(check_rope(stack, &stack->rope, what));
    if (has_rotation(stack, TSRI_ROTATION_LOCAL))
        TRY(check_rope(stack, &stack->local_rope, what));
    if (stack->side == TSRI_SIDE_ENCODER && tsri_model_rope_is_given(&stack->rope))
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: %s is not served in an encoder", what,
                              stack->rope.scaling == TSRI_SCALING_DYNAMIC ? "dynamic rope scaling"
                                                                          : "longrope");
    if (stack->positions == TSRI_POSITIONS_SINUSOIDAL && spec->width < 4)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: sinusoidal positions need a hidden size of at least 4; it is "
                              "%" PRId32,
                              what, spec->width);
    if (stack->positions == TSRI_POSITIONS_ALIBI && spec->max_positions > TSRI_MODEL_MAX_ALIBI)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: %" PRId64 " positions with ALiBi; at most %d are served", what,
                              spec->max_positions, TSRI_MODEL_MAX_ALIBI);
    const double kv =
        (double)stack->layers * stack->kv_heads * (stack->head_size + stack->value_size) * 4.0;
    if (kv * (double)spec->context > 9e18)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: keys and values of %" PRId64 " positions in %" PRId32
                              " layers exceed what can be addressed",
                              what, spec->context, stack->layers);
    return TSR_OK;
}

tsr_status tsri_model_spec_check(const tsri_model_spec *spec, const char *what) {
    TRY(check_token(spec, what, "bos_token_id", spec->bos));
    TRY(check_token(spec, what, "pad_token_id", spec->pad));
    TRY(check_token(spec, what, "decoder_start_token_id", spec->decoder_start));
    TRY(check_token(spec, what, "true_token_id", spec->judged_yes));
    TRY(check_token(spec, what, "false_token_id", spec->judged_no));
    for (int32_t i = 0; i < spec->n_eos; i++)
        TRY(check_token(spec, what, "eos_token_id", spec->eos[i]));
    if (spec->logit_cap != 0 && spec->head_bias)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: logits with a soft cap and a bias are not served", what);
    TRY(check_stack(spec, &spec->decoder, what));
    return check_stack(spec, &spec->encoder, what);
}

static void finish_stack(tsri_model_stack *stack) {
    if (stack->layers && !stack->embeds_only && stack->attention_scale == 0)
        stack->attention_scale = (float)(1 / sqrt(stack->head_size));
}

void tsri_model_spec_finish(tsri_model_spec *spec) {
    const tsri_model_rope *rope = &tsri_model_main_stack(spec)->rope;
    double context = (double)spec->max_positions;
    /* A config with two rotations, as Gemma 3's, gives the length that it was extended to. */
    if ((rope->scaling == TSRI_SCALING_LINEAR && !tsri_model_main_stack(spec)->local_rope.rotary) ||
        rope->scaling == TSRI_SCALING_DYNAMIC)
        context *= fmax(rope->factor, 1);
    else if (rope->scaling == TSRI_SCALING_YARN || rope->scaling == TSRI_SCALING_LONGROPE)
        context = fmax(context, (double)rope->original_positions * rope->factor);
    spec->context = (int64_t)fmin(context, TSRI_MODEL_MAX_POSITIONS);
    finish_stack(&spec->decoder);
    finish_stack(&spec->encoder);
    if (!spec->encoder.layers)
        return;
    if (!spec->source_vocab)
        spec->source_vocab = spec->vocab;
    if (!spec->source_context)
        spec->source_context = spec->context;
}

bool tsri_model_layer_has_experts(const tsri_model_stack *stack, int32_t layer) {
    return stack->experts && !(stack->dense && stack->dense[layer]);
}

int32_t tsri_model_layer_window(const tsri_model_stack *stack, int32_t layer) {
    return !stack->windowed || stack->windowed[layer] ? stack->window : 0;
}

tsri_model_rotation tsri_model_layer_rotation(const tsri_model_stack *stack, int32_t layer) {
    if (stack->positions != TSRI_POSITIONS_ROTARY)
        return TSRI_ROTATION_NONE;
    return stack->rotations ? (tsri_model_rotation)stack->rotations[layer] : TSRI_ROTATION_MAIN;
}
