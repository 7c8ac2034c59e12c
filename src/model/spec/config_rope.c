/* model/spec/config_rope.c - rotary positions in a config: rope_theta and rope_scaling, as
 * transformers 4 wrote them, or rope_parameters. */
#include "model/spec/config.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct scope {
    const json_t *object; /* the object that has the parameters; NULL: there are none */
    bool of_layers;       /* they are those of one kind of layer */
    char what[512];
} scope;

static const char original[] = "original_max_position_embeddings";

static tsr_status positive(const scope *scope, const char *key, bool required, double *out) {
    const json_t *value = json_object_get(scope->object, key);
    if (required && (!value || json_is_null(value)))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is missing", scope->what, key);
    return tsri_base_json_real(scope->object, scope->what, key, 1e-9, 1e12, out);
}

static tsr_status read_yarn(const scope *scope, const tsri_model_config *config,
                            int64_t max_positions, tsri_model_rope *rope) {
    const json_t *factor = json_object_get(scope->object, "factor");
    if (!factor || json_is_null(factor))
        rope->factor = (double)max_positions / (double)rope->original_positions;
    rope->beta_fast = 32;
    rope->beta_slow = 1;
    TRY(positive(scope, "beta_fast", false, &rope->beta_fast));
    TRY(positive(scope, "beta_slow", false, &rope->beta_slow));
    bool truncate = true;
    TRY(tsri_base_json_bool(scope->object, scope->what, "truncate", &truncate));
    rope->untruncated = !truncate;
    double mscale = 0, magnitude = 0;
    TRY(tsri_base_json_real(scope->object, scope->what, "mscale", 0, 1e6, &mscale));
    const double all = rope->mscale_all;
    TRY(positive(scope, "attention_factor", false, &magnitude));
    if (magnitude == 0 && mscale != 0 && all != 0)
        magnitude = tsri_model_yarn_magnitude(rope->factor, mscale) /
                    tsri_model_yarn_magnitude(rope->factor, all);
    rope->magnitude = magnitude != 0 ? magnitude : tsri_model_yarn_magnitude(rope->factor, 1);
    if (rope->theta <= 1)
        return tsri_base_fail(TSR_E_FORMAT, "%s: rope_theta %g must be above 1 for yarn",
                              config->what, rope->theta);
    return TSR_OK;
}

/* New memory: a list of as many positive numbers as the rotation has pairs of dimensions. */
static tsr_status read_factors(const scope *scope, const char *key, int32_t rotary,
                               const float **out) {
    const json_t *list = json_object_get(scope->object, key);
    float *factors = NULL;
    size_t i;
    json_t *value;
    if (!list || json_is_null(list))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is missing", scope->what, key);
    if (!json_is_array(list))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" must be a list of numbers", scope->what,
                              key);
    if (json_array_size(list) != (size_t)(rotary / 2))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" has %zu numbers; %" PRId32
                              " rotary dimensions of a head need %" PRId32,
                              scope->what, key, json_array_size(list), rotary, rotary / 2);
    TRY(tsri_base_new(json_array_size(list), sizeof *factors, &factors));
    *out = factors;
    json_array_foreach(list, i, value) {
        factors[i] = (float)json_number_value(value); /* not a number: 0 */
        if (!(factors[i] > 0) || isinf(factors[i]))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"%s\" must have positive numbers only; number %zu of it "
                                  "is not one",
                                  scope->what, key, i + 1);
    }
    return TSR_OK;
}

static tsr_status read_longrope(const scope *scope, const tsri_model_config *config,
                                int64_t max_positions, int32_t rotary, tsri_model_rope *rope) {
    double magnitude = 0;
    rope->original_positions = 0;
    TRY(tsri_base_json_int(scope->object, scope->what, original, 2, TSRI_MODEL_MAX_POSITIONS,
                           &rope->original_positions));
    /* the config's own takes precedence, as in transformers */
    TRY(tsri_model_config_long(config, original, false, 2, TSRI_MODEL_MAX_POSITIONS,
                               &rope->original_positions));
    if (!rope->original_positions)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" is missing, there and in the config; longrope compares "
                              "lengths with it",
                              scope->what, original);
    rope->factor = (double)max_positions / (double)rope->original_positions;
    TRY(positive(scope, "factor", false, &rope->factor));
    TRY(positive(scope, "attention_factor", false, &magnitude));
    if (magnitude == 0 && rope->factor > 1)
        magnitude = sqrt(1 + log(rope->factor) / log((double)rope->original_positions));
    rope->magnitude = magnitude != 0 ? magnitude : 1;
    TRY(read_factors(scope, "short_factor", rotary, &rope->short_factors));
    return read_factors(scope, "long_factor", rotary, &rope->long_factors);
}

/* `rotary`: the dimensions that are rotated after the share that the config names. */
static tsr_status read_scaling(const scope *scope, const tsri_model_config *config,
                               int64_t max_positions, int32_t rotary, tsri_model_rope *rope) {
    static const struct {
        const char *name;
        tsri_model_scaling scaling;
    } types[] = {{"linear", TSRI_SCALING_LINEAR}, {"dynamic", TSRI_SCALING_DYNAMIC},
                 {"llama3", TSRI_SCALING_LLAMA3}, {"yarn", TSRI_SCALING_YARN},
                 {"su", TSRI_SCALING_LONGROPE},   {"longrope", TSRI_SCALING_LONGROPE}};
    const char *type = NULL;
    TRY(tsri_base_json_text(scope->object, scope->what, "type", &type));
    TRY(tsri_base_json_text(scope->object, scope->what, "rope_type", &type));
    if (!type || strcmp(type, "default") == 0)
        return TSR_OK;
    rope->original_positions = max_positions;
    TRY(tsri_base_json_int(scope->object, scope->what, original, 1, TSRI_MODEL_MAX_POSITIONS,
                           &rope->original_positions));
    /* the config's own takes precedence, as in transformers, but where kinds of layers have theirs */
    if (!scope->of_layers)
        TRY(tsri_model_config_long(config, original, false, 1, TSRI_MODEL_MAX_POSITIONS,
                                   &rope->original_positions));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            rope->scaling = types[i].scaling;
    if (rope->scaling == TSRI_SCALING_NONE)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: rope type \"%s\" is not served; default, linear, dynamic, "
                              "llama3, yarn and longrope are",
                              scope->what, type);
    if (rope->scaling == TSRI_SCALING_LONGROPE)
        return read_longrope(scope, config, max_positions, rotary, rope);
    TRY(positive(scope, "factor", rope->scaling != TSRI_SCALING_YARN, &rope->factor));
    TRY(tsri_base_json_real(scope->object, scope->what, "mscale_all_dim", 0, 1e6,
                            &rope->mscale_all));
    if (rope->scaling == TSRI_SCALING_LLAMA3) {
        TRY(positive(scope, "low_freq_factor", true, &rope->low_freq_factor));
        TRY(positive(scope, "high_freq_factor", true, &rope->high_freq_factor));
    }
    return rope->scaling == TSRI_SCALING_YARN ? read_yarn(scope, config, max_positions, rope)
                                              : TSR_OK;
}

/* Refuses separate parameters for each kind of layer: the family has one set. */
static tsr_status refuse_nested(const scope *scope) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)scope->object, key, value) if (
        json_is_object(value)) return tsri_base_fail(TSR_E_UNSUPPORTED,
                                                     "%s has parameters for each kind of layer "
                                                     "(%s); only one set for all "
                                                     "layers is served",
                                                     scope->what, key);
    return TSR_OK;
}

tsr_status tsri_model_config_rope(const tsri_model_config *config, double theta,
                                  int64_t max_positions, tsri_model_rope *rope) {
    static const char *const spellings[] = {"rope_scaling", "rope_parameters"};
    double share = rope->share;
    rope->theta = theta;
    TRY(tsri_base_json_real(config->root, config->what, "rotary_emb_base", 1e-9, 1e12,
                            &rope->theta));
    TRY(tsri_base_json_real(config->root, config->what, "rope_theta", 1e-9, 1e12, &rope->theta));
    TRY(tsri_base_json_real(config->root, config->what, "rotary_pct", 0, 1, &share));
    TRY(tsri_base_json_real(config->root, config->what, "partial_rotary_factor", 0, 1, &share));
    for (size_t i = 0; i < 2; i++) {
        const json_t *object = json_object_get(config->root, spellings[i]);
        if (!object || json_is_null(object))
            continue;
        if (!json_is_object(object))
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" must be an object", config->what,
                                  spellings[i]);
        scope scope = {.object = object};
        snprintf(scope.what, sizeof scope.what, "%s: \"%s\"", config->what, spellings[i]);
        TRY(refuse_nested(&scope));
        TRY(tsri_base_json_real(object, scope.what, "rope_theta", 1e-9, 1e12, &rope->theta));
        TRY(tsri_base_json_real(object, scope.what, "partial_rotary_factor", 0, 1, &share));
        TRY(read_scaling(&scope, config, max_positions, (int32_t)(rope->rotary * share), rope));
        if (json_object_size(object)) /* the older spelling takes precedence, as in transformers */
            break;
    }
    rope->rotary = (int32_t)(rope->rotary * share);
    return TSR_OK;
}

/* Reads one set of parameters: {"rope_theta", "rope_type", ...}. */
static tsr_status read_set(const tsri_model_config *config, const json_t *object, const char *name,
                           int64_t max_positions, tsri_model_rope *rope) {
    double share = 1;
    scope scope = {.object = object, .of_layers = true};
    snprintf(scope.what, sizeof scope.what, "%s: \"%s\"", config->what, name);
    if (!object || json_is_null(object))
        return TSR_OK;
    if (!json_is_object(object))
        return tsri_base_fail(TSR_E_FORMAT, "%s must be an object", scope.what);
    TRY(tsri_base_json_real(object, scope.what, "rope_theta", 1e-9, 1e12, &rope->theta));
    TRY(tsri_base_json_real(object, scope.what, "partial_rotary_factor", 0, 1, &share));
    TRY(read_scaling(&scope, config, max_positions, rope->rotary, rope));
    if (share == 1 && !tsri_model_rope_is_given(rope))
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: a partial rotation, dynamic scaling and longrope are not served where "
        "layers have rotary parameters of their own",
        scope.what);
}

tsr_status tsri_model_config_two_ropes(const tsri_model_config *config, double theta,
                                       double local_theta, int64_t max_positions,
                                       tsri_model_stack *stack) {
    static const char both[] = "rope_parameters", *const kinds[] = {"full_attention",
                                                                    "sliding_attention"};
    tsri_model_rope *ropes[] = {&stack->rope, &stack->local_rope};
    const json_t *parameters = json_object_get(config->root, both);
    stack->rope.theta = theta;
    stack->local_rope.theta = local_theta;
    stack->rope.rotary = stack->local_rope.rotary = stack->head_size;
    TRY(tsri_base_json_real(config->root, config->what, "rope_theta", 1e-9, 1e12,
                            &stack->rope.theta));
    TRY(tsri_base_json_real(config->root, config->what, "rope_local_base_freq", 1e-9, 1e12,
                            &stack->local_rope.theta));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)parameters, key, value) {
        const int i = strcmp(key, kinds[0]) == 0 ? 0 : 1;
        if (strcmp(key, kinds[i]) != 0)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s\" has \"%s\"; parameters for %s and for %s are "
                                  "wanted",
                                  config->what, both, key, kinds[0], kinds[1]);
        TRY(read_set(config, value, key, max_positions, ropes[i]));
    }
    /* the older spelling takes precedence, as in transformers */
    return read_set(config, json_object_get(config->root, "rope_scaling"), "rope_scaling",
                    max_positions, &stack->rope);
}
