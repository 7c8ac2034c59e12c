/* model/weights/feed_forward.c - the weights of a layer's feed-forward part: one, or a router and experts. */
#include "model/weights/define.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

typedef tsri_model_place place;

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
    const bool apart = !names->gate_up ||
                       tsri_model_find_array(p->finder, gate_name, p->number, ".weight"),
               turned = tsri_model_find_array(p->finder, names->up_gate, p->number, ".weight");
    const tsri_model_source *sources = !stack->gated ? &gate_up[1]
                                       : turned      ? halves
                                       : apart       ? gate_up
                                                     : &one;
    const int n = stack->gated && apart ? 2 : 1;
    const tsri_model_source down = {.pattern = down_name, .rows = spec->width};
    TRY(tsri_model_define(p, TSRI_ROLE_UP, "up", sources, n, spec->width,
                          stack->mlp_bias && !stack->inner_unbiased));
    return tsri_model_define(p, TSRI_ROLE_DOWN, "down", &down, 1, ffn, stack->mlp_bias);
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
    TRY(tsri_model_find(p->finder, tsri_model_place_id(p, TSRI_ROLE_EXPERTS_UP_BIAS), p->number,
                        "experts_up", ".bias", sources, n, 0));
    const tsri_model_source down = {
        .pattern = names->experts_down_bias, .rows = E * p->finder->weights->spec->width, .of = E};
    return tsri_model_find(p->finder, tsri_model_place_id(p, TSRI_ROLE_EXPERTS_DOWN_BIAS),
                           p->number, "experts_down", ".bias", &down, 1, 0);
}

static tsr_status define_experts(const place *p) {
    const tsri_model_stack *stack = p->stack;
    const tsri_model_names *names = p->finder->names;
    const int64_t C = p->finder->weights->spec->width, E = stack->experts;
    const bool all = tsri_model_find_array(p->finder, names->experts_down, p->number, "") != NULL;
    const tsri_model_source router = {.pattern = names->router, .rows = E},
                            choice = {.pattern = names->choice_bias, .rows = E},
                            shared = {.pattern = names->shared_router, .rows = C};
    tsri_model_source *sources = NULL;
    TRY(tsri_model_define(p, TSRI_ROLE_ROUTER, "router", &router, 1, C, stack->experts_bias));
    if (stack->experts_biased)
        TRY(tsri_model_find(p->finder, tsri_model_place_id(p, TSRI_ROLE_CHOICE_BIAS), p->number,
                            "choice_bias", "", &choice, 1, 0));
    TRY(tsri_base_new(2 * (size_t)E, sizeof *sources, &sources));
    const int n = list_experts(p, all ? names->experts_gate_up : NULL,
                               all ? names->experts_gate : names->expert_gate,
                               all ? names->experts_up : names->expert_up, all ? E : 0, sources);
    tsr_status status =
        tsri_model_define(p, TSRI_ROLE_EXPERTS_UP, "experts_up", sources, n, C, false);
    for (int32_t e = 0; e < E; e++)
        sources[e] = (tsri_model_source){.pattern = names->expert_down, .rows = C, .expert = e};
    if (all)
        sources[0] = (tsri_model_source){.pattern = names->experts_down, .rows = E * C, .of = E};
    if (status == TSR_OK)
        status = tsri_model_define(p, TSRI_ROLE_EXPERTS_DOWN, "experts_down", sources,
                                   all ? 1 : (int)E, stack->expert_ffn, false);
    if (status == TSR_OK && stack->experts_bias)
        status = define_experts_biases(p, sources);
    free(sources);
    if (status != TSR_OK || !stack->shared_ffn)
        return status;
    if (stack->shared_gated)
        TRY(tsri_model_define(p, TSRI_ROLE_SHARED_ROUTER, "shared_router", &shared, 1, 0, false));
    return define_dense_mlp(p, stack->shared_ffn, names->shared_gate, names->shared_up,
                            names->shared_down);
}

tsr_status tsri_model_define_feed_forward(const place *p) {
    const tsri_model_names *names = p->finder->names;
    if (tsri_model_layer_has_experts(p->stack, p->layer))
        return define_experts(p);
    return define_dense_mlp(p, p->stack->ffn, names->gate, names->up, names->down);
}
