/* task/generate/settings.c - reads a model's generation settings, and makes the rules of a run from
 * them and from the options. */
#include "task/generate/settings.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* CTranslate2: include/ctranslate2/translation.h, generation.h; src/decoding.cc (BeamSearch::search
 * ends with as many results as beams, and bans and penalises tokens before the softmax; its
 * sequences have a target prefix, and no start token). */
static const tsri_task_manner manners[] = {
    {TSRI_IO_CTRANSLATE2, TSR_EARLY_FIRST, .greedy = true, .beams = 2, .least = 1,
     .renormalize = true, .after_start = true},
    /* transformers, which takes one beam where the files give no number; 4 is ours */
    {TSRI_IO_UNKNOWN, TSR_EARLY_HEURISTIC, .beams = 4, .least = 0, .renormalize = false},
};

const tsri_task_manner *tsri_task_manner_of(const tsri_model *model) {
    const tsri_task_manner *m = manners;
    const tsri_io_format format = model->archive ? model->archive->format : TSRI_IO_UNKNOWN;
    while (m->format != TSRI_IO_UNKNOWN && m->format != format)
        m++;
    return m;
}

typedef struct source { /* where lists of ids come from, for messages */
    const json_t *config;
    const char *path;
    int32_t V;
} source;

static tsr_status take_id(const source *s, const char *key, const json_t *value, int32_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) >= s->V)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" must have token ids only, which are whole numbers from "
                              "0 to %d",
                              s->path, key, (int)s->V - 1);
    *out = (int32_t)json_integer_value(value);
    return TSR_OK;
}

/* Reads one id, or the first of a list. */
static tsr_status read_id(const source *s, const char *key, int32_t *out) {
    const json_t *value = json_object_get(s->config, key);
    if (json_is_array(value))
        value = json_array_get(value, 0);
    return value && !json_is_null(value) ? take_id(s, key, value, out) : TSR_OK;
}

static void mark(unsigned char *is, int32_t id, unsigned flag, int32_t *count) {
    *count += !(is[id] & flag);
    is[id] |= (unsigned char)flag;
}

static tsr_status read_ids(const source *s, const char *key, unsigned flag, unsigned char *is,
                           int32_t *count) {
    const json_t *list = json_object_get(s->config, key), *value;
    size_t i;
    int32_t id;
    if (list && !json_is_null(list) && !json_is_array(list))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not a list of token ids", s->path, key);
    json_array_foreach(list, i, value) {
        TRY(take_id(s, key, value, &id));
        mark(is, id, flag, count);
    }
    return TSR_OK;
}

static tsr_status read_word(const source *s, const json_t *word, tsri_task_token_rules *rules,
                            unsigned char *is, size_t *used) {
    static const char key[] = "bad_words_ids";
    const size_t n = json_array_size(word), begin = *used;
    if (!n)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not a list of lists of token ids",
                              s->path, key);
    for (size_t i = 0; i < n; i++)
        TRY(take_id(s, key, json_array_get(word, i), &rules->bad.ids[(*used)++]));
    if (n > 1) {
        rules->bad.ends[rules->bad.n++] = *used;
        return TSR_OK;
    }
    const int32_t id = rules->bad.ids[begin];
    *used = begin;
    if (!(is[id] & TSRI_TASK_END)) /* an end token is always allowed */
        mark(is, id, TSRI_TASK_NEVER, &rules->never);
    return TSR_OK;
}

static tsr_status read_words(const source *s, tsri_task_token_rules *rules, unsigned char *is) {
    const json_t *list = json_object_get(s->config, "bad_words_ids"), *word;
    size_t i, total = 0, used = 0;
    if (!list || json_is_null(list))
        return TSR_OK;
    json_array_foreach(list, i, word) total += json_array_size(word);
    TRY(tsri_base_new(total, sizeof *rules->bad.ids, &rules->bad.ids));
    TRY(tsri_base_new(json_array_size(list), sizeof *rules->bad.ends, &rules->bad.ends));
    json_array_foreach(list, i, word) TRY(read_word(s, word, rules, is, &used));
    return TSR_OK;
}

/* The forced first token: the one that is named, or, by a flag in the oldest files, the
 * beginning-of-sequence token. */
static tsr_status read_forced_first(const source *s, const tsri_model_generation *g, int32_t *out) {
    bool flag = false;
    TRY(read_id(s, "forced_bos_token_id", out));
    if (g->old)
        TRY(tsri_base_json_bool(s->config, s->path, "force_bos_token_to_be_generated", &flag));
    if (flag)
        *out = g->bos;
    return TSR_OK;
}

/* transformers refuses this, too: no token would be allowed. */
static tsr_status check_forced(const source *s, const unsigned char *is, const char *key,
                               int32_t forced) {
    if (forced < 0 || !(is[forced] & TSRI_TASK_NEVER))
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"%s\" forces token %d, which is also suppressed (by "
                          "\"suppress_tokens\" or an option); remove one of them",
                          s->path, key, (int)forced);
}

static tsr_status read_settings(const source *s, const tsri_model_generation *g,
                                tsri_task_token_rules *rules, unsigned char *is) {
    TRY(read_ids(s, "suppress_tokens", TSRI_TASK_NEVER, is, &rules->never));
    TRY(read_ids(s, "begin_suppress_tokens", TSRI_TASK_NOT_FIRST, is, &rules->not_first));
    TRY(read_forced_first(s, g, &rules->forced_first));
    TRY(read_id(s, "forced_eos_token_id", &rules->forced_last));
    TRY(check_forced(s, is, "forced_bos_token_id", rules->forced_first));
    TRY(check_forced(s, is, "forced_eos_token_id", rules->forced_last));
    TRY(tsri_base_json_bool(s->config, s->path, "renormalize_logits", &rules->renormalize));
    /* Forced tokens are not checked against these: they come even where they are bad words. */
    return read_words(s, rules, is);
}

static tsr_status fill(const tsri_model *model, const tsr_generate_options *o, const int32_t *ends,
                       uint32_t n_ends, tsri_task_token_rules *rules) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_generation *g = &model->generation;
    unsigned char *is;
    TRY(tsri_base_new((size_t)spec->vocab, 1, &is));
    rules->is = is;
    for (int32_t i = 0; i < spec->n_eos && !o->ignore_eos; i++)
        if (spec->eos[i] >= 0 && spec->eos[i] < spec->vocab)
            mark(is, spec->eos[i], TSRI_TASK_END, &rules->ends);
    for (uint32_t i = 0; i < n_ends && !o->ignore_eos; i++)
        mark(is, ends[i], TSRI_TASK_END, &rules->ends);
    for (uint32_t i = 0; i < o->n_suppress; i++)
        mark(is, o->suppress[i], TSRI_TASK_NEVER, &rules->never);
    if (!g->settings)
        return TSR_OK;
    return read_settings(&(source){.config = g->settings, .path = g->path, .V = spec->vocab}, g,
                         rules, is);
}

tsr_status tsri_task_token_rules_create(tsri_model *model, const tsr_generate_options *o,
                                        const int32_t *ends, uint32_t n_ends,
                                        tsri_task_token_rules *out) {
    const tsri_task_manner *manner = tsri_task_manner_of(model);
    const bool after_start = manner->after_start && model->spec.encoder.layers;
    tsri_task_settings_tell(model);
    *out = (tsri_task_token_rules){.V = model->spec.vocab,
                                   .beams = o->num_beams > 1 ? (int32_t)o->num_beams : 1,
                                   .stopping = (tsr_early_stopping)o->early_stopping,
                                   .length_penalty = o->length_penalty,
                                   .coverage_penalty = o->coverage_penalty,
                                   .repetition_penalty = o->repeat_penalty,
                                   .no_repeat_ngram = o->no_repeat_ngram,
                                   .least = o->min_new_tokens,
                                   .least_length = o->min_new_tokens ? 0 : o->min_length,
                                   .renormalize = manner->renormalize,
                                   .start_apart = after_start,
                                   .forced_first = -1,
                                   .forced_last = -1};
    const tsr_status status = fill(model, o, ends, n_ends, out);
    out->penalise_logits = after_start && out->renormalize;
    if (o->ignore_eos)
        out->forced_last = -1;
    if (status != TSR_OK)
        tsri_task_token_rules_clear(out);
    return status;
}
