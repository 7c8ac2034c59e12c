/* model/weights/stack.c - the weights of one stack: its embedding, its layers or recurrent units, and its last norm. */
#include "model/weights/define.h"

#include "base/error.h"

typedef tsri_model_place place;

/* Defines a unit that reads `inputs` numbers: the role `gates` and the next three. */
static tsr_status define_unit(const place *p, tsri_model_role gates, const char *title,
                              const char *pattern, int64_t inputs) {
    static const char *const suffixes[] = {".weight_ih", ".bias_ih", ".weight_hh", ".bias_hh"};
    const int64_t E = p->stack->recurrent, columns[] = {inputs, 0, E, 0};
    const tsri_model_source source = {.pattern = pattern, .rows = 3 * E};
    for (uint32_t i = 0; i < 4; i++)
        TRY(tsri_model_find(p->finder, tsri_model_place_id(p, gates) + i, p->number, title,
                            suffixes[i], &source, 1, columns[i]));
    return TSR_OK;
}

/* Defines what a recurrent stack has instead of a layer's blocks. */
static tsr_status define_recurrent(const place *p) {
    const tsri_model_spec *spec = p->finder->weights->spec;
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t source_state = spec->encoder.recurrent, A = stack->head_size;
    const bool encoder = stack->side == TSRI_SIDE_ENCODER;
    const int64_t inputs = spec->embed_width + (encoder ? 0 : stack->value_size);
    TRY(define_unit(p, TSRI_ROLE_FORWARD, "forward", names->forward, inputs));
    if (encoder)
        return define_unit(p, TSRI_ROLE_BACKWARD, "backward", names->backward, inputs);
    const tsri_model_source init = {.pattern = names->init, .rows = stack->recurrent},
                            query = {.pattern = names->cross_q, .rows = A},
                            key = {.pattern = names->cross_kv, .rows = A},
                            score = {.pattern = names->score, .rows = A};
    TRY(tsri_model_define(p, TSRI_ROLE_INIT, "init", &init, 1, source_state, true));
    TRY(tsri_model_define(p, TSRI_ROLE_CROSS_Q, "query", &query, 1, stack->recurrent, true));
    TRY(tsri_model_define(p, TSRI_ROLE_CROSS_KV, "key", &key, 1, stack->value_size, false));
    return tsri_model_define(p, TSRI_ROLE_SCORE, "score", &score, 1, 0, false);
}

static tsr_status define_layer(const place *p) {
    if (p->stack->embeds_only)
        return TSR_OK;
    if (p->stack->recurrent)
        return define_recurrent(p);
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const tsri_model_source out = {.pattern = names->out, .rows = p->finder->weights->spec->width};
    if (stack->place != TSRI_NORM_ADDED && !(stack->first_unnormed && p->layer == 0))
        TRY(tsri_model_define_layer_norm(p, TSRI_ROLE_NORM1, "norm1", names->norm1));
    TRY(tsri_model_define_attention(p));
    if (stack->relative_by_layer)
        TRY(tsri_model_define_relative(p->finder, stack, p->number,
                                       tsri_model_place_id(p, TSRI_ROLE_RELATIVE)));
    TRY(tsri_model_define(p, TSRI_ROLE_OUT, "out", &out, 1,
                          (int64_t)stack->heads * stack->value_size, stack->out_bias));
    if (stack->cross)
        TRY(tsri_model_define_cross(p));
    if (stack->place != TSRI_NORM_ADDED && !stack->one_norm)
        TRY(tsri_model_define_layer_norm(p, TSRI_ROLE_NORM2, "norm2", names->norm2));
    TRY(tsri_model_define_feed_forward(p));
    if (stack->place != TSRI_NORM_ADDED && stack->place != TSRI_NORM_BOTH)
        return TSR_OK;
    TRY(tsri_model_define_layer_norm(p, TSRI_ROLE_OUT_NORM, "out_norm", names->out_norm));
    return tsri_model_define_layer_norm(p, TSRI_ROLE_DOWN_NORM, "down_norm", names->down_norm);
}

/* Defines the convolution beside the first layer. */
static tsr_status define_convolution(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const int64_t C = finder->weights->spec->width;
    const tsri_model_source conv = {
        .pattern = finder->names->conv, .rows = C, .taps = stack->conv_taps};
    if (!stack->conv_taps)
        return TSR_OK;
    const uint32_t id = tsri_model_stack_weight(stack, TSRI_STACK_CONV);
    TRY(tsri_model_find(finder, id, -1, "convolution", ".weight", &conv, 1,
                        C / stack->conv_groups * stack->conv_taps));
    TRY(tsri_model_find(finder, id + 1, -1, "convolution", ".bias", &conv, 1, 0));
    return tsri_model_define_norm(finder, stack,
                                  tsri_model_stack_weight(stack, TSRI_STACK_CONV_NORM), -1,
                                  "convolution_norm", finder->names->conv_norm, C);
}

tsr_status tsri_model_define_stack(tsri_model_finder *finder, const tsri_model_stack *stack,
                                   const tsri_model_names *names) {
    const tsri_model_spec *spec = finder->weights->spec;
    const int64_t width = spec->embed_width ? spec->embed_width : spec->width;
    const int32_t groups = tsri_model_stack_groups(stack);
    if (!stack->layers)
        return TSR_OK;
    tsri_model_find_by(finder, names);
    finder->side = stack->side == TSRI_SIDE_ENCODER && spec->decoder.layers ? "encoder." : "";
    if (stack->side == TSRI_SIDE_ENCODER && spec->source_embed) {
        const tsri_model_source embed = {.pattern = names->embed, .rows = spec->source_vocab};
        TRY(tsri_model_find(finder, tsri_model_stack_weight(stack, TSRI_STACK_EMBED), -1, "embed",
                            ".weight", &embed, 1, width));
    }
    TRY(tsri_model_define_positions(finder, stack, width));
    if (stack->embed_norm)
        TRY(tsri_model_define_norm(finder, stack,
                                   tsri_model_stack_weight(stack, TSRI_STACK_EMBED_NORM), -1,
                                   "embed_norm", names->embed_norm, width));
    TRY(tsri_model_define_distances(finder, stack));
    TRY(define_convolution(finder, stack));
    for (int32_t i = 0; i < groups; i++)
        TRY(define_layer(&(place){
            .finder = finder, .stack = stack, .layer = i * (stack->layers / groups), .number = i}));
    if (stack->final_norm)
        TRY(tsri_model_define_norm(finder, stack,
                                   tsri_model_stack_weight(stack, TSRI_STACK_FINAL_NORM), -1,
                                   "final_norm", names->final_norm, spec->width));
    return tsri_model_define_frequencies(finder, stack);
}
