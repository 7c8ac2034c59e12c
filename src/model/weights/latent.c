/* model/weights/latent.c - the weights of latent attention: what makes latent vectors of queries, and of keys and values,
 * their norms, and what makes heads of them. */
#include "model/weights/define.h"

#include "base/error.h"

#include <stdio.h>

typedef tsri_model_place place;

/* Defines a latent vector's norm, and the matrix that makes `more` numbers besides. */
static tsr_status define_latent(const place *p, tsri_model_role role, const char *title,
                                const char *pattern, const char *norm, int64_t latent,
                                int64_t more) {
    const tsri_model_source source = {.pattern = pattern, .rows = latent + more},
                            weight = {.pattern = norm, .rows = latent};
    char norm_title[32];
    snprintf(norm_title, sizeof norm_title, "%s_norm", title);
    TRY(tsri_model_define(p, role, title, &source, 1, p->finder->weights->spec->width,
                          p->stack->qkv_bias));
    return tsri_model_define(p, (tsri_model_role)(role + 2), norm_title, &weight, 1, 0, false);
}

/* Defines keys and values that a file has apart. */
static tsr_status define_keys_and_values(const place *p, const tsri_model_source *key,
                                         const tsri_model_source *value) {
    const int64_t latent = p->stack->kv_latent;
    TRY(tsri_model_define(p, TSRI_ROLE_KV_UP, "k_up", key, 1, latent, false));
    return tsri_model_define(p, TSRI_ROLE_V_UP, "v_up", value, 1, latent, false);
}

tsr_status tsri_model_define_latent(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t H = stack->heads, R = stack->rope.rotary, own = stack->head_size - R,
                  Dv = stack->value_size;
    const tsri_model_source query = {.pattern = stack->q_latent ? names->q_up : names->q,
                                     .rows = H * stack->head_size},
                            up = {.pattern = names->kv_up, .rows = H * (own + Dv)},
                            key = {.pattern = names->k_up,
                                   .rows = H * own,
                                   .of = H,
                                   .inputs_first = true},
                            value = {.pattern = names->v_up, .rows = H * Dv, .of = H};
    if (stack->q_latent)
        TRY(define_latent(p, TSRI_ROLE_Q_LATENT, "q_latent", names->q_latent, names->q_latent_norm,
                          stack->q_latent, 0));
    TRY(tsri_model_define(p, TSRI_ROLE_QKV, "q", &query, 1,
                          stack->q_latent ? stack->q_latent : p->finder->weights->spec->width,
                          false));
    TRY(define_latent(p, TSRI_ROLE_KV_LATENT, "kv_latent", names->kv_latent, names->kv_latent_norm,
                      stack->kv_latent, R));
    if (names->k_up && tsri_model_find_array(p->finder, names->k_up, p->number, ""))
        return define_keys_and_values(p, &key, &value);
    return tsri_model_define(p, TSRI_ROLE_KV_UP, "kv_up", &up, 1, stack->kv_latent, false);
}
