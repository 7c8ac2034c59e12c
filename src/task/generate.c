/* task/generate.c - prompts to sequences; the defaults of a model. */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/opened.h"
#include "task/decode.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_LIMIT = 1 << 20, CONFIG_DEPTH = 64 };

static tsr_status apply_config(const json_t *config, const char *path, tsr_generate_options *o) {
    double temperature = o->temperature, top_p = o->top_p, min_p = o->min_p,
           penalty = o->repeat_penalty;
    int64_t top_k = o->top_k, n = o->max_new_tokens;
    bool sample = true;
    TRY(tsri_base_json_bool(config, path, "do_sample", &sample));
    TRY(tsri_base_json_real(config, path, "temperature", 0, 1e6, &temperature));
    TRY(tsri_base_json_real(config, path, "top_p", 1e-9, 1, &top_p));
    TRY(tsri_base_json_real(config, path, "min_p", 0, 1, &min_p));
    TRY(tsri_base_json_real(config, path, "repetition_penalty", 1e-3, 1e3, &penalty));
    TRY(tsri_base_json_int(config, path, "top_k", 0, 1 << 24, &top_k));
    TRY(tsri_base_json_int(config, path, "max_new_tokens", 0, INT32_MAX, &n));
    o->temperature = sample ? (float)temperature : 0;
    o->top_p = (float)top_p;
    o->min_p = (float)min_p;
    o->repeat_penalty = (float)penalty;
    o->top_k = (int32_t)top_k;
    o->max_new_tokens = n;
    return TSR_OK;
}

tsr_status tsr_generate_defaults(const tsr_model *model, tsr_generate_options *options) {
    *options = (tsr_generate_options){.struct_size = sizeof *options,
                                      .max_new_tokens = -1,
                                      .temperature = 0.8f,
                                      .top_k = 40,
                                      .top_p = 0.95f,
                                      .min_p = 0.05f,
                                      .repeat_penalty = 1};
    const char *folder = tsri_model_of(model)->path;
    if (!tsri_base_is_folder(folder))
        return TSR_OK;
    char *path = tsri_base_join(folder, "generation_config.json");
    json_t *config = NULL;
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (path && tsri_base_is_file(path)) {
        status = tsri_base_json_load(path, CONFIG_LIMIT, CONFIG_DEPTH, &config);
        if (status == TSR_OK)
            status = apply_config(config, path, options);
    }
    json_decref(config);
    free(path);
    return status;
}

static tsr_status take_ids(const tsri_model *model, const tsr_prompt *prompt, tsri_text_ids *ids) {
    for (uint32_t i = 0; i < prompt->n_ids; i++)
        if (prompt->ids[i] < 0 || prompt->ids[i] >= model->spec.vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "token id %d: the model's vocabulary has the ids 0 to %d",
                                  (int)prompt->ids[i], (int)model->spec.vocab - 1);
    return tsri_text_ids_append(ids, prompt->ids, prompt->n_ids);
}

static tsr_status take_prompt(const tsri_model *model, const tsr_prompt *prompt, int64_t context,
                              tsri_text_ids *ids) {
    if (prompt->ids)
        TRY(take_ids(model, prompt, ids));
    else if (model->tokenizer)
        TRY(tsri_text_encode(model->tokenizer, prompt->text ? prompt->text : "", prompt->text_size,
                             TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, ids));
    else
        return tsri_base_fail(TSR_E_STATE,
                              "%s has no tokenizer that can be used%s%s: give the prompt as token "
                              "ids (--ids 1,2,3 --print-ids)",
                              model->path, model->tokenizer_why ? ": " : "",
                              model->tokenizer_why ? model->tokenizer_why : "");
    if (!ids->count) {
        if (model->spec.bos < 0)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the prompt is empty and %s names no beginning-of-sequence "
                                  "token: give at least one token",
                                  model->path);
        TRY(tsri_text_ids_append(ids, &model->spec.bos, 1));
    }
    for (size_t i = 0; i < ids->count; i++)
        if (ids->data[i] >= model->spec.vocab)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "the tokenizer gives token id %d, and the model's vocabulary "
                                  "ends at %d: tokenizer and model don't belong together",
                                  (int)ids->data[i], (int)model->spec.vocab - 1);
    if ((int64_t)ids->count > context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the prompt has %zu tokens, and the context holds %lld: shorten it, "
                              "or raise -c up to what the model reads (%lld)",
                              ids->count, (long long)context, (long long)model->spec.context);
    return TSR_OK;
}

static tsr_status ready_sequences(const tsri_model *model, const tsr_prompt *const *prompts,
                                  uint32_t n, const tsr_generate_options *options, int64_t context,
                                  tsri_task_sequence *sequences) {
    for (uint32_t i = 0; i < n; i++) {
        sequences[i].prompt = i;
        sequences[i].slot = (int32_t)i;
        TRY(take_prompt(model, prompts[i], context, &sequences[i].ids));
        TRY(tsri_task_sequence_begin(&sequences[i], model, options));
    }
    return TSR_OK;
}

tsr_status tsr_generate(tsr_model *model, const tsr_prompt *const *prompts, uint32_t n,
                        const tsr_generate_options *options, tsr_generated_fn generated, void *data,
                        tsr_generate_stats *stats) {
    tsri_model *m = tsri_model_of(model);
    tsri_task_sequence *sequences = NULL;
    tsri_session *session = NULL;
    if (!n)
        return TSR_OK;
    if (!m->run)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device", m->path);
    TRY(tsri_task_options_check(options, m));
    const int64_t context = options->context ? options->context : m->spec.context;
    TRY(tsri_base_new(n, sizeof *sequences, &sequences));
    tsr_status status = tsri_session_create(m, (int32_t)n, context, &session);
    if (status == TSR_OK)
        status = ready_sequences(m, prompts, n, options, context, sequences);
    if (status == TSR_OK) {
        const tsri_task_decoding decoding = {.model = m,
                                             .session = session,
                                             .options = options,
                                             .generated = generated,
                                             .data = data,
                                             .stats = stats};
        status = tsri_task_decode(&decoding, sequences, n);
    }
    tsri_session_destroy(&session);
    for (uint32_t i = 0; i < n; i++)
        tsri_task_sequence_clear(&sequences[i]);
    free(sequences);
    return status;
}
