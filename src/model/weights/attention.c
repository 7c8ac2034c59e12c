/* model/weights/attention.c - the weights of a layer's attention: queries, keys and values as the files have them
 * (apart, as one matrix, by groups of heads), their norms, and what attends to an encoder. */
#include "model/weights/define.h"

#include "base/error.h"

#include <stdlib.h>

typedef tsri_model_place place;

/* Defines queries, keys and values that are blocks of several types: a matrix for each run of one type. */
static tsr_status define_apart(const place *p, const tsri_model_source sources[3]) {
    tsri_model_weight *items = p->finder->weights->items,
                      *qkv = &items[tsri_model_place_id(p, TSRI_ROLE_QKV)];
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
        TRY(tsri_model_define(p, role, titles[run], sources + first, end - first,
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
        TRY(tsri_model_define(p, roles[i], titles[i], &sources[i], 1, 0, false));
        p->finder->weights->items[tsri_model_place_id(p, roles[i])].add = p->finder->norm_offset;
    }
    return TSR_OK;
}

/* Defines the matrices of disentangled attention whose keys have no biases: each by itself. */
static tsr_status define_unbiased_keys(const place *p, const tsri_model_source qkv[3],
                                       const tsri_model_source distances[2]) {
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width;
    const struct {
        tsri_model_role role;
        const char *title, *bias_title, *bias;
    } rows[] = {{TSRI_ROLE_QKV, "q", "q.bias", names->q_bias},
                {TSRI_ROLE_QKV_SECOND, "k", NULL, NULL},
                {TSRI_ROLE_QKV_THIRD, "v", "v.bias", names->v_bias}};
    for (int i = 0; i < 3; i++) {
        const tsri_model_source bias = {.pattern = rows[i].bias, .rows = qkv[i].rows};
        TRY(tsri_model_define(p, rows[i].role, rows[i].title, &qkv[i], 1, C, false));
        if (rows[i].bias)
            TRY(tsri_model_find(p->finder, tsri_model_place_id(p, rows[i].role) + 1, p->number,
                                rows[i].bias_title, "", &bias, 1, 0));
    }
    TRY(tsri_model_define(p, TSRI_ROLE_DISTANCE_QK, "distance_q", &distances[0], 1, C, true));
    return tsri_model_define(p, TSRI_ROLE_DISTANCE_K, "distance_k", &distances[1], 1, C, false);
}

/* Defines what disentangled attention has: queries and keys without values, because the same matrices may
 * make those of distances. */
static tsr_status define_disentangled(const place *p, const tsri_model_source qkv[3]) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width;
    const tsri_model_source distances[2] = {{.pattern = names->distance_q, .rows = qkv[0].rows},
                                            {.pattern = names->distance_k, .rows = qkv[1].rows}};
    if (stack->keys_unbiased)
        return define_unbiased_keys(p, qkv, distances);
    TRY(tsri_model_define(p, TSRI_ROLE_QKV, "qk", qkv, 2, C, stack->qkv_bias));
    TRY(tsri_model_define(p, TSRI_ROLE_QKV_SECOND, "v", qkv + 2, 1, C, stack->qkv_bias));
    return stack->distance_apart ? tsri_model_define(p, TSRI_ROLE_DISTANCE_QK, "distance_qk",
                                                     distances, 2, C, stack->qkv_bias)
                                 : TSR_OK;
}

tsr_status tsri_model_define_attention(const place *p) {
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
    if (stack->kv_latent)
        return tsri_model_define_latent(p);
    if (stack->distance_span)
        return define_disentangled(p, names->fused == TSRI_FUSED_GROUPS ? by_group : apart);
    const bool either = names->fused == TSRI_FUSED_NO && names->qkv &&
                        tsri_model_find_array(p->finder, names->qkv, p->number, ".weight");
    const tsri_model_fused fused = either ? TSRI_FUSED_QKV : names->fused;
    const tsri_model_source *sources = fused == TSRI_FUSED_NO    ? apart
                                       : fused == TSRI_FUSED_QKV ? &one
                                                                 : by_group;
    const int n = fused == TSRI_FUSED_QKV ? 1 : 3;
    TRY(tsri_model_define(p, TSRI_ROLE_QKV, "qkv", sources, n, p->finder->weights->spec->width,
                          stack->qkv_bias));
    if (fused == TSRI_FUSED_NO &&
        tsri_model_find_mixed(p->finder,
                              &p->finder->weights->items[tsri_model_place_id(p, TSRI_ROLE_QKV)]))
        TRY(define_apart(p, apart));
    if (stack->sinks) {
        const tsri_model_source sinks = {.pattern = names->sinks, .rows = stack->heads};
        TRY(tsri_model_find(p->finder, tsri_model_place_id(p, TSRI_ROLE_SINKS), p->number, "sinks",
                            "", &sinks, 1, 0));
    }
    return define_qk_norms(p);
}

tsr_status tsri_model_define_cross(const place *p) {
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
    TRY(tsri_model_define_layer_norm(p, TSRI_ROLE_CROSS_NORM, "cross_norm", names->cross_norm));
    TRY(tsri_model_define(p, TSRI_ROLE_CROSS_Q, "cross_q", &query, 1, C, stack->qkv_bias));
    TRY(tsri_model_define(p, TSRI_ROLE_CROSS_KV, "cross_kv", names->cross_kv ? &one : apart,
                          names->cross_kv ? 1 : 2, C, stack->qkv_bias));
    return tsri_model_define(p, TSRI_ROLE_CROSS_OUT, "cross_out", &out, 1,
                             (int64_t)stack->heads * stack->value_size, stack->out_bias);
}
