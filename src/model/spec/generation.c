/* model/spec/generation.c - reads generation_config.json, or the same keys of config.json. */
#include "model/spec/generation.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 16 << 20, DEPTH = 64 };

void tsri_model_add_eos(tsri_model_spec *spec, int64_t id) {
    for (int32_t i = 0; i < spec->n_eos; i++)
        if (spec->eos[i] == id)
            return;
    if (id >= 0 && spec->n_eos < TSRI_MODEL_MAX_EOS)
        spec->eos[spec->n_eos++] = (int32_t)id;
}

static tsr_status take_id(const tsri_model_generation *g, const tsri_model_spec *spec,
                          const char *key, const json_t *value, int64_t lowest, int32_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < lowest ||
        json_integer_value(value) >= spec->vocab)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" must be ids from 0 to vocab_size - 1 (%d)", g->path, key,
                              spec->vocab - 1);
    *out = (int32_t)json_integer_value(value);
    return TSR_OK;
}

/* If generation_config.json has end tokens, those of config.json don't end a text. */
static tsr_status take_eos(const tsri_model_generation *g, tsri_model_spec *spec) {
    const json_t *eos = json_object_get(g->settings, "eos_token_id");
    const size_t n = json_is_array(eos) ? json_array_size(eos) : 1;
    if (!eos || json_is_null(eos))
        return TSR_OK;
    if (n > TSRI_MODEL_MAX_EOS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"eos_token_id\" lists %zu ids; at most %d are read", g->path, n,
                              TSRI_MODEL_MAX_EOS);
    spec->n_eos = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t id = -1;
        TRY(take_id(g, spec, "eos_token_id", json_is_array(eos) ? json_array_get(eos, i) : eos, -1,
                    &id));
        tsri_model_add_eos(spec, id);
    }
    return TSR_OK;
}

/* Takes one id, or the first of a list. */
static tsr_status take_one(const tsri_model_generation *g, const tsri_model_spec *spec,
                           const char *key, int32_t *out) {
    const json_t *value = json_object_get(g->settings, key);
    if (json_is_array(value))
        value = json_array_get(value, 0);
    return value && !json_is_null(value) ? take_id(g, spec, key, value, -1, out) : TSR_OK;
}

static tsr_status take_ids(tsri_model_generation *g, tsri_model_spec *spec) {
    if (!g->old)
        TRY(take_eos(g, spec));
    TRY(take_one(g, spec, "bos_token_id", &g->bos));
    int32_t start = g->bos;
    TRY(take_one(g, spec, "decoder_start_token_id", &start));
    if (start >= 0)
        g->decoder_start = start;
    return TSR_OK;
}

tsr_status tsri_model_generation_read(const char *folder, json_t *config, const char *config_name,
                                      tsri_model_spec *spec, tsri_model_generation *out) {
    *out = (tsri_model_generation){.bos = spec->bos, .decoder_start = spec->decoder_start};
    out->path = tsri_base_join(folder, "generation_config.json");
    if (!out->path)
        return TSR_E_HOST_MEMORY;
    if (tsri_base_is_file(out->path)) {
        TRY(tsri_base_json_load(out->path, BYTES, DEPTH, &out->settings));
        if (!json_is_object(out->settings))
            return tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", out->path);
    } else {
        free(out->path);
        out->path = NULL;
        if (!config)
            return TSR_OK;
        out->path = tsri_base_copy_text(config_name, strlen(config_name));
        if (!out->path)
            return TSR_E_HOST_MEMORY;
        out->settings = json_incref(config);
        out->old = true;
    }
    return take_ids(out, spec);
}

void tsri_model_generation_clear(tsri_model_generation *generation) {
    json_decref(generation->settings);
    free(generation->path);
    *generation = (tsri_model_generation){.bos = -1, .decoder_start = -1};
}
