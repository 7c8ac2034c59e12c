/* task/generate/decode_beams.c - finds continuations of prompts by beam search, and gives the
 * hypotheses to the callback. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "task/generate/beams.h"
#include "task/generate/decode.h"
#include "task/generate/settings.h"

#include <stdlib.h>

enum { TEXTS = 32 }; /* searched at once */

typedef struct run {
    const tsri_task_decoding *decoding;
    tsri_task_sequence *sequences;
    tsri_task_text *texts;
    uint32_t n, taken;
    uint64_t tokens;
} run;

/* The most tokens to generate; 0: the sequence has ended already. */
static int64_t most_of(const tsri_task_decoding *d, const tsri_task_sequence *s) {
    const int64_t room = d->context - (int64_t)s->ids.count,
                  wanted = tsri_task_most_new(d->options, (int64_t)s->ids.count);
    return wanted >= 0 && wanted < room ? wanted : room;
}

static tsr_status next(void *data, const tsri_task_text **text) {
    run *r = data;
    for (; !*text && r->taken < r->n; r->taken++) {
        tsri_task_sequence *s = &r->sequences[r->taken];
        if (r->texts[r->taken].most > 0)
            *text = &r->texts[r->taken];
        else
            TRY(tsri_task_end(r->decoding, s,
                              tsri_task_most_new(r->decoding->options, (int64_t)s->ids.count) == 0
                                  ? TSR_FINISH_LENGTH
                                  : TSR_FINISH_CONTEXT));
    }
    return TSR_OK;
}

static tsr_status give(run *r, const tsri_task_sequence *prompt, const tsri_task_hypothesis *h,
                       tsri_task_sequence *s) {
    TRY(tsri_text_ids_append(&s->ids, prompt->ids.data, prompt->ids.count));
    TRY(tsri_task_sequence_begin(s, r->decoding->model, r->decoding->options));
    s->score = (float)h->score;
    for (int64_t i = (int64_t)prompt->ids.count; i < h->n && !s->finish; i++)
        TRY(tsri_task_accept(r->decoding, s, h->ids[i], 0, NULL));
    return s->finish ? TSR_OK : tsri_task_end(r->decoding, s, TSR_FINISH_LENGTH);
}

static tsr_status found(void *data, const tsri_task_text *text, const tsri_task_beam *beam) {
    run *r = data;
    tsri_task_sequence *prompt = &r->sequences[text - r->texts];
    const uint32_t n_best = r->decoding->options->n_best ? r->decoding->options->n_best : 1;
    const int32_t all = tsri_task_beam_finished(beam);
    if (!all)
        return tsri_task_end(r->decoding, prompt, TSR_FINISH_LENGTH);
    r->tokens += (uint64_t)(tsri_task_beam_best(beam, 0)->n - text->n_prompt);
    for (uint32_t i = 0; i < n_best && i < (uint32_t)all; i++) {
        tsri_task_sequence s = {.prompt = prompt->prompt, .hypothesis = i};
        const tsr_status status = give(r, prompt, tsri_task_beam_best(beam, (int32_t)i), &s);
        tsri_task_sequence_clear(&s);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

static tsri_task_beams_options sizes(const run *r, const tsri_task_token_rules *rules) {
    tsri_task_beams_options o = {.rules = rules,
                                 .texts = r->n < TEXTS ? (int32_t)r->n : TEXTS,
                                 .context = r->decoding->context,
                                 .scores = true};
    for (uint32_t i = 0; i < r->n; i++) {
        const tsri_task_text *text = &r->texts[i];
        o.source_context = text->n_source > o.source_context ? text->n_source : o.source_context;
    }
    return o;
}

tsr_status tsri_task_decode_beams(const tsri_task_decoding *d, tsri_task_sequence *sequences,
                                  const tsri_text_ids *sources, uint32_t n) {
    const uint64_t began = tsri_base_now_ns();
    run r = {.decoding = d, .sequences = sequences, .n = n};
    const tsri_task_beams_ends ends = {.next = next, .found = found, .data = &r};
    tsri_task_token_rules rules;
    tsri_task_beams *beams = NULL;
    uint64_t prompts = 0;
    TRY(tsri_task_token_rules_create(d->model, d->options, d->ends, d->n_ends, &rules));
    tsr_status status = tsri_base_new(n, sizeof *r.texts, &r.texts);
    for (uint32_t i = 0; status == TSR_OK && i < n; i++) {
        r.texts[i] = (tsri_task_text){.source = sources[i].data,
                                      .n_source = (int64_t)sources[i].count,
                                      .prompt = sequences[i].ids.data,
                                      .n_prompt = (int64_t)sequences[i].ids.count,
                                      .most = most_of(d, &sequences[i])};
        prompts += sources[i].count + sequences[i].ids.count;
    }
    if (status == TSR_OK) {
        const tsri_task_beams_options options = sizes(&r, &rules);
        status = tsri_task_beams_create(d->model, &options, &beams);
    }
    if (status == TSR_OK)
        status = tsri_task_beams_run(beams, &ends);
    if (d->stats) {
        d->stats->prompt_tokens += prompts;
        d->stats->new_tokens += r.tokens;
        d->stats->decode_tokens += r.tokens;
        d->stats->decode_ns += tsri_base_now_ns() - began;
        d->stats->first_token_ns = tsri_base_now_ns() - began;
    }
    tsri_task_beams_destroy(&beams);
    free(r.texts);
    tsri_task_token_rules_clear(&rules);
    return status;
}
