/* task/translate/languages.c - makes the encoder's input from a line, and text from the decoder's
 * output. */
#include "base/error.h"
#include "task/translate/translate.h"

#include <string.h>

static tsr_status start(const tsri_model *m, int32_t chosen, tsri_text_ids *prompt) {
    const int32_t id = chosen >= 0 ? chosen : m->generation.decoder_start;
    if (id < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has no token for its decoder to start with "
                              "(decoder_start_token_id), so it can't translate",
                              m->path);
    return tsri_text_ids_append(prompt, &id, 1);
}

static tsr_status check_ids(const tsri_model *m, const tsri_text_ids *ids, size_t from,
                            int32_t vocab) {
    for (size_t i = from; i < ids->count; i++)
        if (ids->data[i] < 0 || ids->data[i] >= vocab)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: the tokenizer gives token id %d, but the model's vocabulary "
                                  "ends at %d: tokenizer and model don't belong together",
                                  m->path, (int)ids->data[i], (int)vocab - 1);
    return TSR_OK;
}

tsr_status tsri_task_translation_begin(tsri_task_translation *t) {
    const tsri_model *m = t->model;
    const char *prefix = t->options->target_prefix;
    TRY(tsri_text_direction_of(m->tokenizer, t->options->source, t->options->target,
                               &t->direction));
    TRY(start(m, t->direction.start, &t->prompt));
    t->start = t->prompt.count;
    if (t->direction.forced >= 0)
        t->rules.forced_first = t->direction.forced;
    if (prefix && *prefix) {
        /* The prompt then has more than one token, so the search would force nothing after it. */
        if (t->rules.forced_first >= 0)
            TRY(tsri_text_ids_append(&t->prompt, &t->rules.forced_first, 1));
        t->start = t->prompt.count;
        TRY(tsri_text_encode(tsri_text_target(m->tokenizer), prefix, strlen(prefix), 0,
                             &t->prompt));
    }
    return check_ids(m, &t->prompt, 0, m->spec.vocab);
}

tsr_status tsri_task_encode_source(const tsri_task_translation *t, const char *text, size_t n,
                                   tsri_text_ids *out) {
    const size_t from = out->count;
    TRY(tsri_text_encode_source(t->model->tokenizer, text, n, &t->direction, 0, out));
    return check_ids(t->model, out, from, t->model->spec.source_vocab);
}

tsr_status tsri_task_decode_target(const tsri_task_translation *t, const int32_t *ids, size_t n,
                                   tsri_bytes *out) {
    return tsri_text_decode(tsri_text_target(t->model->tokenizer), ids, n, TSRI_TEXT_SKIP_SPECIAL,
                            out);
}
