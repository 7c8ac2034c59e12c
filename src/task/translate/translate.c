/* task/translate/translate.c - translates lines: runs them in batches through beam search. */
#include "task/translate/translate.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/generate/decode.h"
#include "task/generate/settings.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 32,
    AHEAD = 8,              /* the most batches of lines that are read ahead */
    TOKENS_AHEAD = 1 << 18, /* reading ahead stops after so many tokens */
    CAPACITY = 64           /* the smallest context of a session; larger ones are powers of two */
};

static tsr_status defaults(const tsri_model *model, tsr_generate_options *options) {
    TRY(tsri_task_defaults(model, options));
    const json_t *beams = json_object_get(model->generation.settings, "num_beams");
    if (!beams || json_is_null(beams))
        options->num_beams = tsri_task_manner_of(model)->beams;
    return TSR_OK;
}

tsr_status tsr_translate_defaults(const tsr_model *model, tsr_generate_options *options) {
    tsr_generate_options known;
    TRY(NEED(model));
    TRY(NEED(options));
    TRY(tsri_base_check_out("tsr_generate_options", options));
    TRY(defaults(tsri_model_of(model), &known));
    tsri_base_give(&known, sizeof known, options);
    return TSR_OK;
}

/* ---- a run ---- */

typedef struct run {
    tsri_task_translation t;
    tsri_task_beams *search;
    tsri_task_lines lines;
    size_t taken;                    /* how many parts of the window the search has got */
    int64_t context, source_context; /* of the search's session */
    uint32_t batch, ahead;           /* ahead: batches of the next window */
    uint64_t began;                  /* when the last window began */
} run;

/* What tsr_generate does to the logits of a text, and no search of translations does. */
static tsr_status check_search(const tsr_generate_options *o) {
    const struct {
        bool given;
        const char *name;
    } rows[] = {{o->presence_penalty != 0, "presence_penalty"},
                {o->frequency_penalty != 0, "frequency_penalty"},
                {o->n_logit_bias > 0, "logit_bias"},
                {o->grammar != NULL, "grammar"},
                {o->json_schema != NULL, "json_schema"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s is given, and translations can't be searched with it; leave "
                                  "it out, or use tsr_generate with one beam",
                                  rows[i].name);
    return TSR_OK;
}

static tsr_status check(const tsri_model *m, const tsr_translate_options *o,
                        const tsr_generate_options *search) {
    if (!m->spec.encoder.layers || !m->spec.decoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is not an encoder-decoder, and only such models translate; see "
                              "tessera generate (decoders) and tessera embed (encoders)",
                              m->path);
    TRY(tsri_model_need_device(m));
    if (!m->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "%s has no tokenizer that can be used%s%s", m->path,
                              m->tokenizer_why ? ": " : "",
                              m->tokenizer_why ? m->tokenizer_why : "");
    if (o->batch > 4096)
        return tsri_base_fail(TSR_E_ARGUMENT, "batch is %u; it must be 1 to 4096, or 0", o->batch);
    if (search->max_new_tokens == 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "max_new_tokens is 0; it must be 1 or more, or -1 for the default");
    TRY(check_search(search));
    return tsri_task_options_check(search, m);
}

/* Where a target prefix counts as new tokens, it shortens what follows, and lengthens scores' lengths. */
static void count_prefix(tsri_task_translation *t) {
    const int64_t n = (int64_t)t->prompt.count - 1;
    if (!tsri_task_manner_of(t->model)->after_start)
        return;
    t->rules.counted = n;
    t->rules.least = t->rules.least > n ? t->rules.least - n : 0;
}

static tsr_status begin(run *r) {
    tsri_task_translation *t = &r->t;
    TRY(tsri_task_token_rules_create(t->model, t->search, NULL, 0, &t->rules));
    if (t->rules.beams == 1 && !t->search->n_best) /* without scores it would only cost time */
        t->rules.renormalize = false;
    t->n_best = t->search->n_best ? t->search->n_best : 1;
    const int64_t said = tsri_text_max_length(t->model->tokenizer);
    t->limit = t->model->spec.source_context;
    if (said > 0 && said < t->limit) /* T5 reads any number, but learned with this one */
        t->limit = said;
    TRY(tsri_task_translation_begin(t));
    count_prefix(t);
    if ((int64_t)t->prompt.count >= t->model->spec.context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the target prefix has %zu tokens, but %s writes at most %lld",
                              t->prompt.count - t->start, t->model->path,
                              (long long)(t->model->spec.context - (int64_t)t->start - 1));
    return TSR_OK;
}

static void end(run *r) {
    tsri_task_beams_destroy(&r->search);
    tsri_task_lines_clear(&r->lines);
    tsri_text_ids_clear(&r->t.prompt);
    tsri_task_token_rules_clear(&r->t.rules);
}

/* ---- a window of lines ---- */

/* The first window is one batch, so that answers come soon; then windows grow while one takes less
 * time than this. Ranks that share the layers must read alike, so there no clock decides: whoever calls
 * them gives as many lines as are to be read. */
#define LONG_NS UINT64_C(10000000000)

static void set_ahead(run *r) {
    const uint64_t now = tsri_base_now_ns();
    if (tsri_run_rank_count(r->t.model->run) > 1)
        r->ahead = AHEAD;
    else if (!r->ahead)
        r->ahead = 1;
    else if (now - r->began < LONG_NS && r->ahead < AHEAD)
        r->ahead *= 2;
    else if (now - r->began > 2 * LONG_NS && r->ahead > 1)
        r->ahead /= 2;
}

/* Reads the lines of a window; *more false: these are the last. */
static tsr_status read_lines(run *r, tsr_line_fn next, void *data, bool *more) {
    const char *text;
    size_t n;
    tsri_task_lines_empty(&r->lines);
    *more = true;
    set_ahead(r);
    while (r->lines.n_lines < (size_t)r->batch * r->ahead && r->lines.ids.count < TOKENS_AHEAD) {
        const int got = next(data, r->lines.n_lines == 0, &text, &n);
        *more = got != 0;
        if (got != 1)
            break;
        TRY(tsri_task_lines_add(&r->lines, &r->t, text, n));
    }
    r->began = tsri_base_now_ns();
    return TSR_OK;
}

static int64_t room_for(int64_t needed, int64_t limit) {
    int64_t room = CAPACITY;
    while (room < needed)
        room *= 2;
    return room < limit ? room : limit;
}

/* Makes a search whose session has room for the window's longest part. A model's context may be
 * hundreds of times longer, so memory is taken only for what the lines need. */
static tsr_status make_search(run *r) {
    const tsri_model_spec *spec = &r->t.model->spec;
    int64_t longest = 0, most = 0;
    for (size_t i = 0; i < r->lines.n_parts; i++) {
        const tsri_task_text *text = &r->lines.parts[i].text;
        longest = text->n_source > longest ? text->n_source : longest;
        most = text->n_prompt + text->most > most ? text->n_prompt + text->most : most;
    }
    if (r->search && most <= r->context && longest <= r->source_context)
        return TSR_OK;
    most = most > r->context ? most : r->context;
    longest = longest > r->source_context ? longest : r->source_context;
    tsri_task_beams_destroy(&r->search);
    r->context = room_for(most, spec->context);
    r->source_context = room_for(longest, spec->source_context);
    const tsri_task_beams_options options = {.rules = &r->t.rules,
                                             .texts = (int32_t)r->batch,
                                             .context = r->context,
                                             .source_context = r->source_context,
                                             .scores = r->t.search->n_best > 0};
    return tsri_task_beams_create(r->t.model, &options, &r->search);
}

static tsr_status next_part(void *data, const tsri_task_text **text) {
    run *r = data;
    if (r->taken < r->lines.n_parts)
        *text = &r->lines.order[r->taken++]->text;
    return TSR_OK;
}

static tsr_status found_part(void *data, const tsri_task_text *text, const tsri_task_beam *beam) {
    run *r = data;
    const tsr_translate_options *o = r->t.options;
    tsri_task_part *part =
        (tsri_task_part *)((char *)(uintptr_t)text - offsetof(tsri_task_part, text));
    TRY(tsri_task_lines_keep(&r->lines, &r->t, part, beam));
    if (o->progress && o->progress(o->progress_data, r->t.tokens_done, r->t.tokens_read))
        return tsri_base_fail(TSR_E_CANCELLED, "the translation was cancelled");
    return TSR_OK;
}

static tsr_status translate_lines(run *r, tsr_translated_fn translated, void *data) {
    const tsri_task_beams_ends ends = {.next = next_part, .found = found_part, .data = r};
    TRY(tsri_task_lines_sort(&r->lines, &r->t));
    if (r->lines.n_parts) {
        r->taken = 0;
        TRY(make_search(r));
        TRY(tsri_task_beams_run(r->search, &ends));
    }
    return tsri_task_lines_give(&r->lines, &r->t, translated, data);
}

tsr_status tsr_translate(tsr_model *model, const tsr_translate_options *options, tsr_line_fn next,
                         tsr_translated_fn translated, void *data, tsr_translate_stats *stats) {
    tsr_translate_options known;
    tsr_generate_options search;
    const uint64_t start = tsri_base_now_ns();
    run r = {0};
    bool more = true;
    TRY(NEED(model));
    TRY(NEED(next));
    TRY(NEED(translated));
    TRY(tsri_base_check_out("tsr_translate_stats", stats));
    TRY(tsri_base_adopt("tsr_translate_options", options, &known, sizeof known));
    TRY(known.search ? tsri_base_adopt("tsr_generate_options", known.search, &search, sizeof search)
                     : defaults(tsri_model_of(model), &search));
    search.logprobs = search.return_logprob = 0; /* nobody is given them */
    r.t.model = tsri_model_of(model);
    r.t.search = &search;
    r.t.options = &known;
    r.t.lines = known.first_line;
    r.batch = known.batch ? known.batch : BATCH;
    TRY(check(r.t.model, &known, &search));
    tsr_status status = begin(&r);
    while (status == TSR_OK && more) {
        status = read_lines(&r, next, data, &more);
        if (status == TSR_OK)
            status = translate_lines(&r, translated, data);
    }
    r.t.stats.nanoseconds = tsri_base_now_ns() - start;
    tsri_base_give(&r.t.stats, sizeof r.t.stats, stats);
    end(&r);
    return status;
}

/* ---- one text ---- */

typedef struct whole {
    const char *text;
    size_t size, at;
    tsri_bytes out;
    tsr_status status;
} whole;

static int give_line(void *data, int wait, const char **text, size_t *size) {
    whole *w = data;
    (void)wait;
    if (w->at > w->size)
        return 0;
    const char *begin = w->text + w->at;
    const char *stop = w->at < w->size ? memchr(begin, '\n', w->size - w->at) : NULL;
    *text = begin;
    *size = stop ? (size_t)(stop - begin) : w->size - w->at;
    w->at += *size + 1;
    return 1;
}

static int take_line(void *data, const tsr_translated *line) {
    whole *w = data;
    w->status = (tsr_status)line->status;
    if (w->status == TSR_OK && line->line)
        w->status = tsri_base_bytes_append(&w->out, "\n", 1);
    if (w->status == TSR_OK)
        w->status = tsri_base_bytes_append(&w->out, line->best->text, line->best->size);
    else if (line->error)
        tsri_base_fail(w->status, "%s", line->error);
    return w->status != TSR_OK;
}

tsr_status tsr_translate_text(tsr_model *model, const tsr_translate_options *options,
                              const char *text, size_t size, char **out, size_t *n) {
    TRY(NEED_ARRAY(text, size));
    TRY(NEED(out));
    whole w = {.text = size ? text : "", .size = size};
    *out = NULL;
    TRY(tsri_base_bytes_append(&w.out, "", 0));
    tsr_status status = tsr_translate(model, options, give_line, take_line, &w, NULL);
    if (w.status != TSR_OK)
        status = w.status;
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&w.out);
        return status;
    }
    *out = w.out.data;
    if (n)
        *n = w.out.size;
    return TSR_OK;
}
