/* model/weights/weights.c - makes the table of a model's weights: which arrays of the files each is
 * made from, or how it is computed. */
#include "model/weights/weights.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/weights/arrays_by_name.h"
#include "model/weights/tables.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEVER -1e30f /* the logit of a row that is not a token */

/* One layer of a stack, while its weights are searched for. */
typedef struct place {
    tsri_model_finder *finder;
    const tsri_model_stack *stack;
    int32_t layer;  /* the first layer that has these weights */
    int32_t number; /* the number in the names of its arrays */
} place;

static uint32_t id_of(const place *p, tsri_model_role role) {
    return tsri_model_layer_weight(p->finder->weights->spec, p->stack, p->layer, role);
}

/* Defines a layer's matrix from all sources' rows, and its bias (the next role) if it has one. */
static tsr_status define(const place *p, tsri_model_role role, const char *title,
                         const tsri_model_source *sources, int n, int64_t columns, bool bias) {
    TRY(tsri_model_find(p->finder, id_of(p, role), p->number, title, ".weight", sources, n,
                        columns));
    if (!bias)
        return TSR_OK;
    return tsri_model_find(p->finder, id_of(p, role) + 1, p->number, title, ".bias", sources, n, 0);
}

/* Defines a norm's weight and, if the stack's norms have one, its bias (id + 1). */
static tsr_status define_norm(tsri_model_finder *finder, const tsri_model_stack *stack, uint32_t id,
                              int32_t layer, const char *title, const char *pattern,
                              int64_t width) {
    const tsri_model_source source = {.pattern = pattern, .rows = width};
    TRY(tsri_model_find(finder, id, layer, title, ".weight", &source, 1, 0));
    finder->weights->items[id].add = finder->norm_offset;
    if (!stack->norm_bias)
        return TSR_OK;
    return tsri_model_find(finder, id + 1, layer, title, ".bias", &source, 1, 0);
}

static tsr_status define_layer_norm(const place *p, tsri_model_role role, const char *title,
                                    const char *pattern) {
    return define_norm(p->finder, p->stack, id_of(p, role), p->number, title, pattern,
                       p->finder->weights->spec->width);
}

/* Defines queries, keys and values that are blocks of several types: a matrix for each run of one type. */
static tsr_status define_apart(const place *p, const tsri_model_source sources[3]) {
    tsri_model_weight *items = p->finder->weights->items, *qkv = &items[id_of(p, TSRI_ROLE_QKV)];
    static const char *const titles[] = {"qkv", "qkv_second", "qkv_third"};
    tsr_dtype dtypes[3];
    for (int i = 0; i < 3; i++)
        dtypes[i] = qkv->parts[i].array->dtype;
    free(qkv->parts);
    free(qkv[1].parts);
    qkv[0] = qkv[1] = (tsri_model_weight){0};
    for (int run = 0, first = 0; first < 3; run++) {
        const tsri_model_role role = (tsri_model_role)(TSRI_ROLE_QKV + 2 * run);
        int end = first + 1;
        while (end < 3 && dtypes[end] == dtypes[first])
            end++;
        TRY(define(p, role, titles[run], sources + first, end - first,
                   p->finder->weights->spec->width, p->stack->qkv_bias));
        first = end;
    }
    return TSR_OK;
}

static tsr_status define_qk_norms(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const bool rows = stack->qk_norm == TSRI_QK_NORM_ROWS;
    const tsri_model_names *names = p->finder->names;
    const tsri_model_source sources[2] = {
        {.pattern = names->q_norm, .rows = (rows ? stack->heads : 1) * (int64_t)stack->head_size},
        {.pattern = names->k_norm,
         .rows = (rows ? stack->kv_heads : 1) * (int64_t)stack->head_size}};
    static const tsri_model_role roles[] = {TSRI_ROLE_Q_NORM, TSRI_ROLE_K_NORM};
    static const char *const titles[] = {"q_norm", "k_norm"};
    for (int i = 0; stack->qk_norm && i < 2; i++) {
        TRY(define(p, roles[i], titles[i], &sources[i], 1, 0, false));
        p->finder->weights->items[id_of(p, roles[i])].add = p->finder->norm_offset;
    }
    return TSR_OK;
}

/* Defines what disentangled attention has: queries and keys without values, because the same matrices may
 * make those of distances. */
static tsr_status define_disentangled(const place *p, const tsri_model_source qkv[3]) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width;
    const tsri_model_source distances[2] = {{.pattern = names->distance_q, .rows = qkv[0].rows},
                                            {.pattern = names->distance_k, .rows = qkv[1].rows}};
    TRY(define(p, TSRI_ROLE_QKV, "qk", qkv, 2, C, stack->qkv_bias));
    TRY(define(p, TSRI_ROLE_QKV_SECOND, "v", qkv + 2, 1, C, stack->qkv_bias));
    return stack->distance_apart
               ? define(p, TSRI_ROLE_DISTANCE_QK, "distance_qk", distances, 2, C, stack->qkv_bias)
               : TSR_OK;
}

static tsr_status define_qkv(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t D = stack->head_size, Dv = stack->value_size, q = stack->heads * D,
                  k = stack->kv_heads * D, v = stack->kv_heads * Dv;
    const tsri_model_source apart[3] = {{.pattern = names->q, .rows = q},
                                        {.pattern = names->k, .rows = k},
                                        {.pattern = names->v, .rows = v}};
    const tsri_model_source one = {.pattern = names->qkv, .rows = q + k + v};
    const int64_t rows[] = {q, k, v};
    tsri_model_source by_group[3]; /* of each key head: its queries, its key, its value */
    for (int i = 0, first = 0; i < 3; i++) {
        const int64_t each = rows[i] / stack->kv_heads;
        by_group[i] = (tsri_model_source){.pattern = names->qkv,
                                          .rows = rows[i],
                                          .first = first,
                                          .group = each,
                                          .stride = (q + k + v) / stack->kv_heads,
                                          .stored = q + k + v};
        first += (int)each;
    }
    if (stack->distance_span)
        return define_disentangled(p, apart);
    const bool either = names->fused == TSRI_FUSED_NO && names->qkv &&
                        tsri_model_find_array(p->finder, names->qkv, p->number, ".weight");
    const tsri_model_fused fused = either ? TSRI_FUSED_QKV : names->fused;
    const tsri_model_source *sources = fused == TSRI_FUSED_NO    ? apart
                                       : fused == TSRI_FUSED_QKV ? &one
                                                                 : by_group;
    const int n = fused == TSRI_FUSED_QKV ? 1 : 3;
    TRY(define(p, TSRI_ROLE_QKV, "qkv", sources, n, p->finder->weights->spec->width,
               stack->qkv_bias));
    if (fused == TSRI_FUSED_NO &&
        tsri_model_find_mixed(p->finder, &p->finder->weights->items[id_of(p, TSRI_ROLE_QKV)]))
        TRY(define_apart(p, apart));
    if (stack->sinks) {
        const tsri_model_source sinks = {.pattern = names->sinks, .rows = stack->heads};
        TRY(tsri_model_find(p->finder, id_of(p, TSRI_ROLE_SINKS), p->number, "sinks", "", &sinks, 1,
                            0));
    }
    return define_qk_norms(p);
}

static tsr_status define_cross(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width, q = (int64_t)stack->heads * stack->head_size,
                  k = (int64_t)stack->kv_heads * stack->head_size,
                  v = (int64_t)stack->kv_heads * stack->value_size;
    const tsri_model_source query = {.pattern = names->cross_q, .rows = q};
    const tsri_model_source apart[2] = {{.pattern = names->cross_k, .rows = k},
                                        {.pattern = names->cross_v, .rows = v}};
    const tsri_model_source one = {.pattern = names->cross_kv, .rows = k + v};
    const tsri_model_source out = {.pattern = names->cross_out, .rows = C};
    TRY(define_layer_norm(p, TSRI_ROLE_CROSS_NORM, "cross_norm", names->cross_norm));
    TRY(define(p, TSRI_ROLE_CROSS_Q, "cross_q", &query, 1, C, stack->qkv_bias));
    TRY(define(p, TSRI_ROLE_CROSS_KV, "cross_kv", names->cross_kv ? &one : apart,
               names->cross_kv ? 1 : 2, C, stack->qkv_bias));
    return define(p, TSRI_ROLE_CROSS_OUT, "cross_out", &out, 1,
                  (int64_t)stack->heads * stack->value_size, stack->out_bias);
}

/* Defines a feed-forward part of the inner width ffn. */
static tsr_status define_dense_mlp(const place *p, int32_t ffn, const char *gate_name,
                                   const char *up_name, const char *down_name) {
    const tsri_model_spec *spec = p->finder->weights->spec;
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const tsri_model_source gate_up[2] = {{.pattern = gate_name, .rows = ffn},
                                          {.pattern = up_name, .rows = ffn}};
    const tsri_model_source one = {.pattern = names->gate_up, .rows = 2 * (int64_t)ffn};
    const tsri_model_source halves[2] = {
        {.pattern = names->up_gate, .rows = ffn, .first = ffn, .stored = 2 * (int64_t)ffn},
        {.pattern = names->up_gate, .rows = ffn, .stored = 2 * (int64_t)ffn}};
    const bool apart = !names->gate_up,
               turned = tsri_model_find_array(p->finder, names->up_gate, p->number, ".weight");
    const tsri_model_source *sources = !stack->gated ? &gate_up[1]
                                       : turned      ? halves
                                       : apart       ? gate_up
                                                     : &one;
    const int n = stack->gated && apart ? 2 : 1;
    const tsri_model_source down = {.pattern = down_name, .rows = spec->width};
    TRY(define(p, TSRI_ROLE_UP, "up", sources, n, spec->width,
               stack->mlp_bias && !stack->inner_unbiased));
    return define(p, TSRI_ROLE_DOWN, "down", &down, 1, ffn, stack->mlp_bias);
}

/* Fills in where the gates and ups of all experts are, one expert after the other; returns the number of
 * sources. `both` has gates and ups of all experts (NULL: no array has); `of`: the arrays `gate` and `up`
 * have those of so many; 0: of one. */
static int list_experts(const place *p, const char *both, const char *gate, const char *up,
                        int64_t of, tsri_model_source *sources) {
    const int64_t E = p->stack->experts, F = p->stack->expert_ffn;
    const bool alternate = both && p->finder->names->experts_alternate;
    if (both && !alternate) {
        sources[0] = (tsri_model_source){.pattern = both, .rows = 2 * E * F, .of = E};
        return 1;
    }
    for (int32_t e = 0; e < E; e++)
        for (int i = 0; i < 2; i++)
            sources[2 * e + i] = alternate ? (tsri_model_source){.pattern = both,
                                                                 .rows = F,
                                                                 .first = 2 * e * F + i,
                                                                 .group = 1,
                                                                 .stride = 2,
                                                                 .stored = 2 * E * F,
                                                                 .of = E}
                                           : (tsri_model_source){.pattern = i ? up : gate,
                                                                 .rows = F,
                                                                 .first = of ? e * F : 0,
                                                                 .stored = of ? E * F : F,
                                                                 .expert = e,
                                                                 .of = of};
    return (int)(2 * E);
}

/* Biases, which only arrays of all experts have. */
static tsr_status define_experts_biases(const place *p, tsri_model_source *sources) {
    const tsri_model_names *names = p->finder->names;
    const int64_t E = p->stack->experts;
    const int n = list_experts(p, names->experts_gate_up_bias, names->experts_gate_bias,
                               names->experts_up_bias, E, sources);
    TRY(tsri_model_find(p->finder, id_of(p, TSRI_ROLE_EXPERTS_UP_BIAS), p->number, "experts_up",
                        ".bias", sources, n, 0));
    const tsri_model_source down = {
        .pattern = names->experts_down_bias, .rows = E * p->finder->weights->spec->width, .of = E};
    return tsri_model_find(p->finder, id_of(p, TSRI_ROLE_EXPERTS_DOWN_BIAS), p->number,
                           "experts_down", ".bias", &down, 1, 0);
}

static tsr_status define_experts(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width, E = stack->experts;
    const bool all = tsri_model_find_array(p->finder, names->experts_down, p->number, "") != NULL;
    const tsri_model_source router = {.pattern = names->router, .rows = E},
                            shared = {.pattern = names->shared_router, .rows = C};
    tsri_model_source *sources = NULL;
    TRY(define(p, TSRI_ROLE_ROUTER, "router", &router, 1, C, stack->experts_bias));
    TRY(tsri_base_new(2 * (size_t)E, sizeof *sources, &sources));
    const int n = list_experts(p, all ? names->experts_gate_up : NULL,
                               all ? names->experts_gate : names->expert_gate,
                               all ? names->experts_up : names->expert_up, all ? E : 0, sources);
    tsr_status status = define(p, TSRI_ROLE_EXPERTS_UP, "experts_up", sources, n, C, false);
    for (int32_t e = 0; e < E; e++)
        sources[e] = (tsri_model_source){.pattern = names->expert_down, .rows = C, .expert = e};
    if (all)
        sources[0] = (tsri_model_source){.pattern = names->experts_down, .rows = E * C, .of = E};
    if (status == TSR_OK)
        status = define(p, TSRI_ROLE_EXPERTS_DOWN, "experts_down", sources, all ? 1 : (int)E,
                        stack->expert_ffn, false);
    if (status == TSR_OK && stack->experts_bias)
        status = define_experts_biases(p, sources);
    free(sources);
    if (status != TSR_OK || !stack->shared_ffn)
        return status;
    if (stack->shared_gated)
        TRY(define(p, TSRI_ROLE_SHARED_ROUTER, "shared_router", &shared, 1, 0, false));
    return define_dense_mlp(p, stack->shared_ffn, names->shared_gate, names->shared_up,
                            names->shared_down);
}

static tsr_status define_mlp(const place *p) {
    const tsri_model_names *names = p->finder->names;
    if (tsri_model_layer_has_experts(p->stack, p->layer))
        return define_experts(p);
    return define_dense_mlp(p, p->stack->ffn, names->gate, names->up, names->down);
}

/* Defines a unit that reads `inputs` numbers: the role `gates` and the next three. */
static tsr_status define_unit(const place *p, tsri_model_role gates, const char *title,
                              const char *pattern, int64_t inputs) {
    static const char *const suffixes[] = {".weight_ih", ".bias_ih", ".weight_hh", ".bias_hh"};
    const int64_t E = p->stack->recurrent, columns[] = {inputs, 0, E, 0};
    const tsri_model_source source = {.pattern = pattern, .rows = 3 * E};
    for (uint32_t i = 0; i < 4; i++)
        TRY(tsri_model_find(p->finder, id_of(p, gates) + i, p->number, title, suffixes[i], &source,
                            1, columns[i]));
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
    TRY(define(p, TSRI_ROLE_INIT, "init", &init, 1, source_state, true));
    TRY(define(p, TSRI_ROLE_CROSS_Q, "query", &query, 1, stack->recurrent, true));
    TRY(define(p, TSRI_ROLE_CROSS_KV, "key", &key, 1, stack->value_size, false));
    return define(p, TSRI_ROLE_SCORE, "score", &score, 1, 0, false);
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
        TRY(define_layer_norm(p, TSRI_ROLE_NORM1, "norm1", names->norm1));
    TRY(define_qkv(p));
    TRY(define(p, TSRI_ROLE_OUT, "out", &out, 1, (int64_t)stack->heads * stack->value_size,
               stack->out_bias));
    if (stack->cross)
        TRY(define_cross(p));
    if (stack->place != TSRI_NORM_ADDED && !stack->one_norm)
        TRY(define_layer_norm(p, TSRI_ROLE_NORM2, "norm2", names->norm2));
    TRY(define_mlp(p));
    if (stack->place != TSRI_NORM_ADDED && stack->place != TSRI_NORM_BOTH)
        return TSR_OK;
    TRY(define_layer_norm(p, TSRI_ROLE_OUT_NORM, "out_norm", names->out_norm));
    return define_layer_norm(p, TSRI_ROLE_DOWN_NORM, "down_norm", names->down_norm);
}

/* Defines the rotary frequencies as a weight, divided by the file's factors if it has them. */
static tsr_status define_frequencies(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const tsri_model_weights *weights = finder->weights;
    const tsri_model_rope *rope = &stack->rope;
    if (stack->positions != TSRI_POSITIONS_ROTARY)
        return TSR_OK;
    const int64_t pairs = rope->rotary / 2;
    float *frequencies = NULL, *factors = NULL;
    if (stack->local_rope.rotary) {
        TRY(tsri_model_find_computed(
            finder, tsri_model_stack_weight(stack, TSRI_STACK_LOCAL_FREQUENCIES),
            "local_rope.frequencies", stack->local_rope.rotary / 2, 0, &frequencies));
        tsri_model_rope_frequencies(&stack->local_rope, weights->spec->max_positions, 0,
                                    frequencies);
    }
    TRY(tsri_model_find_computed(finder, tsri_model_stack_weight(stack, TSRI_STACK_FREQUENCIES),
                                 "rope.frequencies", pairs, 0, &frequencies));
    tsri_model_rope_frequencies(rope, weights->spec->max_positions, 0, frequencies);
    if (!rope->factors[0])
        return TSR_OK;
    tsr_status status = tsri_model_find_values(finder, rope->factors, pairs, 0, &factors);
    for (int64_t i = 0; status == TSR_OK && i < pairs; i++) {
        if (!(factors[i] > 0) || isinf(factors[i]))
            status = tsri_base_fail(
                TSR_E_FORMAT, "%s: tensor \"%s\"[%" PRId64 "] is %g; a positive number is needed",
                weights->archive->path, rope->factors + 1, i, (double)factors[i]);
        frequencies[i] /= factors[i];
    }
    free(factors);
    return status;
}

/* The number of positions that a stack reads. */
static int64_t read_by(const tsri_model_spec *spec, const tsri_model_stack *stack) {
    return stack->side == TSRI_SIDE_ENCODER && spec->decoder.layers ? spec->source_context
                                                                    : spec->max_positions;
}

/* Defines a bias by distance, expanded from its buckets or in proportion. */
static tsr_status define_relative(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const bool alibi = stack->positions == TSRI_POSITIONS_ALIBI;
    const int32_t buckets = stack->relative_buckets,
                  furthest = alibi ? (int32_t)read_by(finder->weights->spec, stack) - 1
                                   : stack->relative_distance;
    float *table = NULL, *values = NULL;
    tsr_status status = TSR_OK;
    if (!buckets && !alibi)
        return TSR_OK;
    if (buckets)
        status =
            tsri_model_find_values(finder, finder->names->relative, buckets, stack->heads, &table);
    if (status == TSR_OK)
        status = tsri_model_find_computed(
            finder, tsri_model_stack_weight(stack, TSRI_STACK_RELATIVE),
            stack->side == TSRI_SIDE_ENCODER ? "encoder.relative" : "relative", stack->heads,
            2 * (int64_t)furthest + 1, &values);
    if (status == TSR_OK && alibi)
        tsri_model_alibi(furthest, stack->heads, values);
    else if (status == TSR_OK)
        status =
            tsri_model_relative(table, buckets, furthest, stack->heads, !stack->causal, values);
    free(table);
    if (status != TSR_OK || alibi)
        return status;
    const tsri_model_source source = {.pattern = finder->names->relative, .rows = buckets};
    return tsri_model_find(finder, tsri_model_stack_weight(stack, TSRI_STACK_RELATIVE_TABLE), -1,
                           "relative_table", ".weight", &source, 1, stack->heads);
}

/* Defines the table of disentangled attention. */
static tsr_status define_distances(tsri_model_finder *finder, const tsri_model_stack *stack) {
    const int64_t C = finder->weights->spec->width;
    const tsri_model_source table = {.pattern = finder->names->distances,
                                     .rows = 2 * (int64_t)stack->distance_span};
    if (!stack->distance_span)
        return TSR_OK;
    TRY(tsri_model_find(finder, tsri_model_stack_weight(stack, TSRI_STACK_DISTANCES), -1,
                        "distances", ".weight", &table, 1, C));
    if (!stack->distance_norm)
        return TSR_OK;
    return define_norm(finder, stack, tsri_model_stack_weight(stack, TSRI_STACK_DISTANCE_NORM), -1,
                       "distance_norm", finder->names->distance_norm, C);
}

static tsr_status define_positions(tsri_model_finder *finder, const tsri_model_stack *stack,
                                   int64_t width) {
    const tsri_model_spec *spec = finder->weights->spec;
    const uint32_t id = tsri_model_stack_weight(stack, TSRI_STACK_POSITION);
    const int64_t rows = read_by(spec, stack);
    float *values = NULL;
    if (stack->positions == TSRI_POSITIONS_LEARNED) {
        const tsri_model_source position = {.pattern = finder->names->position,
                                            .rows = rows,
                                            .first = stack->position_offset,
                                            .stored = rows + stack->position_offset};
        return tsri_model_find(finder, id, -1, "position", ".weight", &position, 1, width);
    }
    if (stack->positions != TSRI_POSITIONS_SINUSOIDAL)
        return TSR_OK;
    TRY(tsri_model_find_computed(finder, id,
                                 stack->side == TSRI_SIDE_ENCODER ? "encoder.position" : "position",
                                 rows, width, &values));
    tsri_model_sinusoids(&stack->sinusoid, rows, width, values);
    return TSR_OK;
}

/* Defines everything that belongs to one stack. */
static tsr_status define_stack(tsri_model_finder *finder, const tsri_model_stack *stack,
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
    TRY(define_positions(finder, stack, width));
    if (stack->embed_norm)
        TRY(define_norm(finder, stack, tsri_model_stack_weight(stack, TSRI_STACK_EMBED_NORM), -1,
                        "embed_norm", names->embed_norm, width));
    TRY(define_relative(finder, stack));
    TRY(define_distances(finder, stack));
    for (int32_t i = 0; i < groups; i++)
        TRY(define_layer(&(place){
            .finder = finder, .stack = stack, .layer = i * (stack->layers / groups), .number = i}));
    if (stack->final_norm)
        TRY(define_norm(finder, stack, tsri_model_stack_weight(stack, TSRI_STACK_FINAL_NORM), -1,
                        "final_norm", names->final_norm, spec->width));
    return define_frequencies(finder, stack);
}

/* Defines a dense layer if the file has it, or if it is needed. A file that lacks only its bias is
 * damaged, where the family's heads have biases. */
static tsr_status define_dense(tsri_model_finder *finder, uint32_t id, const char *title,
                               const char *pattern, int64_t outputs, int64_t inputs, bool needed) {
    const tsri_io_array *array = tsri_model_find_array(finder, pattern, 0, ".weight");
    const bool wanted = finder->wanted && pattern &&
                        (id == TSRI_WEIGHT_PROJECT || finder->wanted->heads & 1u << id);
    const tsri_model_spec *spec = finder->weights->spec;
    const bool bias = id == TSRI_WEIGHT_LABEL ? spec->label_bias : spec->dense_bias;
    if (!array && !wanted && !needed)
        return TSR_OK;
    const tsri_model_source source = {
        .pattern = pattern,
        .rows = outputs || !array || array->rank < 1 ? outputs : array->dims[0]};
    TRY(tsri_model_find(finder, id, -1, title, ".weight", &source, 1, inputs));
    if (!bias && !tsri_model_find_array(finder, pattern, 0, ".bias"))
        return TSR_OK;
    return tsri_model_find(finder, id + 1, -1, title, ".bias", &source, 1, 0);
}

/* Whether the classifier's dense layer has the name of the masked LM head's. Then a file has one of
 * the two heads, and one that has the classifier's last matrix has the classifier. */
static bool shares_dense(const tsri_model_names *names) {
    return names->label_dense && names->masked_dense &&
           strcmp(names->label_dense, names->masked_dense) == 0;
}

static tsr_status define_classifier(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const int64_t C = spec->width;
    TRY(define_dense(finder, TSRI_WEIGHT_LABEL, "label",
                     spec->label_tokens ? names->token_label : names->label, spec->labels, C,
                     false));
    if (shares_dense(names) && !tsri_model_weight_at(finder->weights, TSRI_WEIGHT_LABEL))
        return TSR_OK;
    TRY(define_dense(finder, TSRI_WEIGHT_LABEL_DENSE, "label_dense", names->label_dense, C, C,
                     spec->label_norm));
    if (!spec->label_norm)
        return TSR_OK;
    return define_norm(finder, &spec->encoder, TSRI_WEIGHT_LABEL_NORM, -1, "label_norm",
                       names->label_norm, C);
}

static tsr_status define_masked(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const int64_t C = spec->width, E = spec->embed_width ? spec->embed_width : C;
    if (shares_dense(names) && tsri_model_weight_at(finder->weights, TSRI_WEIGHT_LABEL))
        return TSR_OK;
    TRY(define_dense(finder, TSRI_WEIGHT_MASKED_DENSE, "masked_dense", names->masked_dense, E, C,
                     false));
    if (!tsri_model_weight_at(finder->weights, TSRI_WEIGHT_MASKED_DENSE))
        return TSR_OK;
    return define_norm(finder, &spec->encoder, TSRI_WEIGHT_MASKED_NORM, -1, "masked_norm",
                       names->masked_norm, E);
}

/* Defines the heads of BERT and its relatives that the file has. */
static tsr_status define_heads(tsri_model_finder *finder) {
    const int64_t C = finder->weights->spec->width;
    TRY(define_dense(finder, TSRI_WEIGHT_POOLER, "pooler", finder->names->pooler, C, C, false));
    TRY(define_dense(finder, TSRI_WEIGHT_NEXT, "next", finder->names->next, 2, C, false));
    TRY(define_classifier(finder));
    return define_masked(finder);
}

/* Whether the file is a bare base model (LlamaModel): its names leave out the prefix, and it has no
 * output matrix. A file with the prefix but without the matrix is damaged. */
static bool is_bare(const tsri_model_finder *finder) {
    const tsri_model_names *names = finder->names;
    return !finder->weights->spec->tied && !finder->wanted &&
           strlen(finder->prefix) < strlen(names->prefix) &&
           !tsri_model_find_array(finder, names->head, 0, ".weight");
}

/* Defines the output matrix: of every decoder that is not bare, and of a masked LM head. */
static tsr_status define_output(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const char *bias_name = names->head_bias ? names->head_bias : names->head;
    const int64_t stored = spec->vocab - spec->blank_start;
    const bool masked = tsri_model_has_masked(finder->weights);
    const bool has_bias =
        spec->head_bias ||
        (names->head_bias && (masked || tsri_model_find_array(finder, bias_name, 0, ".bias")));
    /* A row that is not a token gives a logit that is never the largest. */
    const tsri_model_source head[2] = {{.pattern = names->head, .rows = stored}, {.rows = 1}},
                            bias[2] = {{.pattern = has_bias ? bias_name : NULL, .rows = stored},
                                       {.rows = 1, .blank = NEVER}};
    const int n = spec->blank_start ? 2 : 1;
    if (!spec->decoder.layers && !masked)
        return TSR_OK;
    if (is_bare(finder))
        return TSR_OK;
    if (!spec->tied)
        TRY(tsri_model_find(finder, TSRI_WEIGHT_HEAD, -1, "head", ".weight", head, n,
                            masked && spec->embed_width ? spec->embed_width
                                                        : tsri_model_head_width(spec)));
    if (has_bias || spec->blank_start)
        return tsri_model_find(finder, TSRI_WEIGHT_HEAD_BIAS, -1, "head", ".bias", bias, n, 0);
    return TSR_OK;
}

/* A family of decoders has no names of an encoder, and neither has a GGUF file: both have the same. */
static tsr_status define_all(tsri_model_finder *finder, const tsri_model_names *decoder,
                             const tsri_model_names *encoder) {
    encoder = encoder ? encoder : decoder;
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = spec->decoder.layers ? decoder : encoder;
    const int64_t width = spec->embed_width ? spec->embed_width : spec->width;
    const tsri_model_source embed[2] = {{.pattern = names->embed,
                                         .rows = spec->vocab - spec->blank_start},
                                        {.rows = 1}},
                            types = {.pattern = names->types, .rows = spec->token_types};
    tsri_model_find_by(finder, names);
    finder->side = "";
    TRY(tsri_model_find(finder, TSRI_WEIGHT_EMBED, -1, "embed", ".weight", embed,
                        spec->blank_start ? 2 : 1, width));
    if (spec->token_types)
        TRY(tsri_model_find(finder, TSRI_WEIGHT_TYPES, -1, "types", ".weight", &types, 1, width));
    if (spec->embed_width)
        TRY(define_dense(finder, TSRI_WEIGHT_PROJECT, "project", names->project, spec->width, width,
                         false));
    TRY(define_heads(finder));
    TRY(define_output(finder));
    TRY(define_stack(finder, &spec->decoder, decoder));
    return define_stack(finder, &spec->encoder, encoder);
}

/* int8 products need at least one matrix in blocks. */
static tsr_status check_compute(const tsri_model_weights *weights, const char *config_name) {
    if (weights->keeping.compute != TSR_MODEL_COMPUTE_INT8)
        return TSR_OK;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && tsri_tensor_is_kept_blocks(weight->dtype))
            return TSR_OK;
    }
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s: int8 products need weights kept as q8 or q4, and this model has "
                          "none: add --dtype q8 (rows must be multiples of 32)",
                          config_name);
}

static bool has_few_blocks(const tsri_model_weights *weights) {
    int64_t floats = 0, blocks = 0;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && weight->rank == 2)
            *(tsri_tensor_is_kept_blocks(weight->dtype) ? &blocks : &floats) +=
                weight->dims[0] * weight->dims[1];
    }
    return blocks && floats > blocks;
}

tsr_status tsri_model_weights_create(const tsri_io_archive *archive, const tsri_model_arch *arch,
                                     const tsri_model_spec *spec, const char *config_name,
                                     const tsri_model_keeping *keeping, tsri_model_weights **out) {
    const bool gguf = archive->format == TSRI_IO_GGUF;
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    const int32_t groups =
        tsri_model_stack_groups(&spec->decoder) + tsri_model_stack_groups(&spec->encoder);
    tsri_model_weights *weights = NULL;
    tsri_model_finder finder = {.config_name = config_name};
    finder.norm_offset = gguf && arch->gguf_norm_added ? 0 : stack->norm_offset;
    TRY(tsri_base_new(1, sizeof *weights, &weights));
    finder.weights = weights;
    weights->archive = archive;
    weights->spec = spec;
    weights->keeping = *keeping;
    weights->count = TSRI_WEIGHT_LAYERS + (uint32_t)groups * TSRI_WEIGHT_PER_LAYER;
    tsr_status status = tsri_base_new(weights->count, sizeof *weights->items, &weights->items);
    if (status == TSR_OK)
        status = tsri_base_new(archive->n_arrays, sizeof *finder.used, &finder.used);
    if (status == TSR_OK)
        status = define_all(&finder, gguf ? arch->gguf_names : arch->names,
                            gguf ? NULL : arch->encoder_names);
    if (status == TSR_OK)
        status = tsri_model_find_unread(&finder, arch, gguf);
    if (status == TSR_OK)
        status = check_compute(weights, config_name);
    weights->keeping.few_blocks =
        keeping->dtype == TSR_DTYPE_NONE && status == TSR_OK && has_few_blocks(weights);
    free(finder.used);
    if (status != TSR_OK)
        tsri_model_weights_destroy(&weights);
    *out = weights;
    return status;
}

tsr_status tsri_model_weights_wanted(const tsri_model_arch *arch, const tsri_model_spec *spec,
                                     tsri_model_wanted *wanted) {
    const tsri_io_archive nothing = {0};
    const int32_t groups =
        tsri_model_stack_groups(&spec->decoder) + tsri_model_stack_groups(&spec->encoder);
    tsri_model_weights *weights = NULL;
    TRY(tsri_base_new(1, sizeof *weights, &weights));
    weights->archive = &nothing;
    weights->spec = spec;
    weights->count = TSRI_WEIGHT_LAYERS + (uint32_t)groups * TSRI_WEIGHT_PER_LAYER;
    tsri_model_finder finder = {.weights = weights, .wanted = wanted};
    tsr_status status = tsri_base_new(weights->count, sizeof *weights->items, &weights->items);
    if (status == TSR_OK)
        status = define_all(&finder, arch->names, arch->encoder_names);
    tsri_model_weights_destroy(&weights);
    return status;
}

void tsri_model_weights_destroy(tsri_model_weights **weights) {
    if (!*weights)
        return;
    for (uint32_t i = 0; (*weights)->items && i < (*weights)->count; i++) {
        free((*weights)->items[i].values);
        free((*weights)->items[i].parts);
    }
    tsri_model_adapters_destroy(&(*weights)->adapters);
    free((*weights)->items);
    free(*weights);
    *weights = NULL;
}
