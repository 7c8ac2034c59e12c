/* task/generate/decode.c - runs the steps of autoregressive decoding: computes the next tokens of
 * all sequences, chooses them, and tells the callback. */
#include "task/generate/decode.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "task/generate/settings.h"
#include "text/tokenizer/languages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BEAMS = 1024 };

tsr_status tsri_task_options_check(const tsr_generate_options *o, const tsri_model *model) {
    const struct {
        bool ok;
        const char *name, *wanted;
        double value;
    } rules[] = {
        {o->temperature >= 0 && o->temperature <= 1e30f, "temperature", "0 or more",
         o->temperature},
        {o->top_k >= 0, "top_k", "0 (all) or more", o->top_k},
        {o->top_p > 0 && o->top_p <= 1, "top_p", "above 0 and at most 1", o->top_p},
        {o->min_p >= 0 && o->min_p <= 1, "min_p", "from 0 to 1", o->min_p},
        {o->repeat_penalty > 0 && o->repeat_penalty <= 1e30f, "repeat_penalty", "above 0",
         o->repeat_penalty},
        {o->max_new_tokens >= -1, "max_new_tokens", "0 or more, or -1 for the whole context",
         (double)o->max_new_tokens},
        {o->context >= 0, "context", "0 (the model's context) or more", (double)o->context},
        {o->logprobs <= (uint32_t)model->spec.vocab, "logprobs",
         "at most the size of the vocabulary", o->logprobs},
        {o->num_beams <= MOST_BEAMS, "num_beams", "at most 1024", o->num_beams},
        {o->n_best <= (o->num_beams > 1 ? o->num_beams : 1), "n_best", "at most num_beams",
         o->n_best},
        {o->early_stopping <= TSR_EARLY_NEVER, "early_stopping", "a tsr_early_stopping",
         o->early_stopping},
        {isfinite(o->length_penalty), "length_penalty", "a finite number", o->length_penalty},
        {o->coverage_penalty >= 0 && o->coverage_penalty <= 1e30f, "coverage_penalty", "0 or more",
         o->coverage_penalty},
        {o->min_new_tokens >= 0, "min_new_tokens", "0 or more", (double)o->min_new_tokens},
        {o->max_length >= 0, "max_length", "0 (no bound) or more", (double)o->max_length},
        {o->min_length >= 0, "min_length", "0 or more", (double)o->min_length}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i].ok)
            return tsri_base_fail(TSR_E_ARGUMENT, "%s is %g; it must be %s", rules[i].name,
                                  rules[i].value, rules[i].wanted);
    for (uint32_t i = 0; i < o->n_suppress; i++)
        if (o->suppress[i] < 0 || o->suppress[i] >= model->spec.vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "token id %d is to be suppressed, but the model's vocabulary has "
                                  "the ids 0 to %d",
                                  (int)o->suppress[i], (int)model->spec.vocab - 1);
    for (uint32_t i = 0; i < o->n_stop; i++)
        if (!o->stop[i] || !*o->stop[i])
            return tsri_base_fail(
                TSR_E_ARGUMENT, "stop text number %u is empty; it must have at least one character",
                i + 1);
    if (o->n_stop && !model->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "stop texts need a tokenizer, but %s has none",
                              model->path);
    return TSR_OK;
}

tsr_status tsri_task_check_vocabulary(const tsri_text_ids *ids, int32_t vocab) {
    for (size_t i = 0; i < ids->count; i++)
        if (ids->data[i] >= vocab)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "the tokenizer gives token id %d, but the model's vocabulary "
                                  "ends at %d: tokenizer and model don't belong together",
                                  (int)ids->data[i], (int)vocab - 1);
    return TSR_OK;
}

tsr_status tsri_task_sequence_begin(tsri_task_sequence *s, const tsri_model *model,
                                    const tsr_generate_options *options) {
    if (model->tokenizer) {
        TRY(tsri_text_stream_new(tsri_text_target(model->tokenizer), true, &s->stream));
        /* The text of a token may depend on those before it. */
        for (size_t i = 0; i < s->ids.count; i++)
            TRY(tsri_text_stream_push(s->stream, s->ids.data[i], &s->held));
        tsri_base_bytes_clear(&s->held);
    }
    if (options->repeat_penalty != 1) {
        TRY(tsri_base_new((size_t)model->spec.vocab, 1, &s->seen));
        for (size_t i = 0; i < s->ids.count; i++)
            if (s->ids.data[i] >= 0 && s->ids.data[i] < model->spec.vocab)
                s->seen[s->ids.data[i]] = 1;
    }
    return TSR_OK;
}

void tsri_task_sequence_clear(tsri_task_sequence *s) {
    tsri_text_ids_clear(&s->ids);
    tsri_text_stream_destroy(&s->stream);
    tsri_base_bytes_clear(&s->held);
    free(s->seen);
    *s = (tsri_task_sequence){0};
}

/* ---- text ---- */

/* Where the first stop text begins in the held text; where there is none, the end of the text. */
static size_t find_stop(const tsr_generate_options *o, const tsri_bytes *held, bool *found) {
    size_t at = held->size;
    *found = false;
    for (uint32_t i = 0; i < o->n_stop; i++) {
        const char *hit =
            held->size ? memmem(held->data, held->size, o->stop[i], strlen(o->stop[i])) : NULL;
        if (hit && (size_t)(hit - held->data) < at) {
            at = (size_t)(hit - held->data);
            *found = true;
        }
    }
    return at;
}

/* How many bytes at the end of the held text could be the beginning of a stop text. */
static size_t undecided(const tsr_generate_options *o, const tsri_bytes *held) {
    size_t most = 0;
    for (uint32_t i = 0; i < o->n_stop; i++) {
        size_t n = strlen(o->stop[i]) - 1;
        n = n < held->size ? n : held->size;
        while (n > most && memcmp(held->data + held->size - n, o->stop[i], n))
            n--;
        most = n > most ? n : most;
    }
    return most;
}

/* Compares new text with the stop texts; *text is the part that may be given now. */
static tsr_status take_text(const tsri_task_decoding *d, tsri_task_sequence *s, int32_t id,
                            const char **text, size_t *size) {
    bool found;
    if (s->given) {
        memmove(s->held.data, s->held.data + s->given, s->held.size - s->given);
        s->held.size -= s->given;
        s->given = 0;
    }
    if (s->stream && id >= 0 && s->finish != TSR_FINISH_END)
        TRY(tsri_text_stream_push(s->stream, id, &s->held));
    size_t ready = find_stop(d->options, &s->held, &found);
    if (found)
        s->finish = TSR_FINISH_STOP;
    else if (s->finish && s->stream) {
        TRY(tsri_text_stream_finish(s->stream, &s->held));
        ready = s->held.size;
    } else
        ready -= undecided(d->options, &s->held);
    *text = s->held.data ? s->held.data : "";
    *size = s->given = ready;
    return TSR_OK;
}

/* ---- tokens ---- */

static bool ends(const tsri_task_decoding *d, int32_t id) {
    const tsri_model_spec *spec = &d->model->spec;
    bool found = false;
    for (int32_t i = 0; i < spec->n_eos; i++)
        found = found || spec->eos[i] == id;
    for (uint32_t i = 0; i < d->n_ends; i++)
        found = found || d->ends[i] == id;
    return found && !d->options->ignore_eos;
}

static tsr_status give(const tsri_task_decoding *d, tsri_task_sequence *s, int32_t id,
                       float logprob, const tsr_candidate *candidates) {
    tsr_generated g = {
        .struct_size = sizeof g, .prompt = s->prompt, .id = id, .hypothesis = s->hypothesis};
    TRY(take_text(d, s, id, &g.text, &g.text_size));
    g.finish = s->finish;
    g.score = s->finish ? s->score : 0;
    if (id >= 0 && (d->options->return_logprob || d->options->logprobs)) {
        g.logprob = logprob;
        g.candidates = candidates;
        g.n_candidates = candidates ? d->options->logprobs : 0;
    }
    return d->generated && d->generated(d->data, &g)
               ? tsri_base_fail(TSR_E_CANCELLED, "generation was cancelled")
               : TSR_OK;
}

int64_t tsri_task_most_new(const tsr_generate_options *o, int64_t prompt) {
    if (o->max_new_tokens >= 0 || !o->max_length)
        return o->max_new_tokens;
    return o->max_length > prompt ? o->max_length - prompt : 0;
}

/* How many more tokens the options allow a sequence; -1: any number. */
static int64_t left(const tsri_task_decoding *d, const tsri_task_sequence *s) {
    const int64_t most = tsri_task_most_new(d->options, (int64_t)s->ids.count - s->generated);
    return most < 0 ? -1 : most > s->generated ? most - s->generated : 0;
}

tsr_status tsri_task_accept(const tsri_task_decoding *d, tsri_task_sequence *s, int32_t id,
                            float logprob, const tsr_candidate *candidates) {
    TRY(tsri_text_ids_append(&s->ids, &id, 1));
    s->generated++;
    if (s->seen)
        s->seen[id] = 1;
    if (ends(d, id))
        s->finish = TSR_FINISH_END;
    else if (left(d, s) == 0)
        s->finish = TSR_FINISH_LENGTH;
    else if ((int64_t)s->ids.count >= d->context)
        s->finish = TSR_FINISH_CONTEXT;
    return give(d, s, id, logprob, candidates);
}

tsr_status tsri_task_end(const tsri_task_decoding *d, tsri_task_sequence *s, tsr_finish finish) {
    s->finish = finish;
    return give(d, s, -1, 0, NULL);
}

/* ---- steps ---- */

typedef struct step { /* what every batch needs; made once */
    tsri_model_sequence *inputs;
    uint32_t *active;
    tsri_model_results results;
    tsri_task_sampler *sampler;
    tsri_task_token_rules rules;
    tsri_task_bans bans;
    bool banning; /* tokens may be banned */
    uint32_t n;
    int32_t *ids[TSRI_SESSION_AHEAD]; /* argmax of the steps that are under way, the oldest first */
    int32_t ahead; /* how many are under way: only where argmax is all that is wanted */
} step;

static void clear_step(step *st) {
    free(st->inputs);
    free(st->active);
    free(st->results.logits);
    free(st->results.argmax);
    for (int i = 0; i < TSRI_SESSION_AHEAD; i++)
        free(st->ids[i]);
    free(st->results.top_logits);
    free(st->results.top_ids);
    free(st->results.top_lse);
    free(st->bans.ids);
    tsri_task_token_rules_clear(&st->rules);
    tsri_task_sampler_destroy(&st->sampler);
}

static tsr_status make_step(const tsri_task_decoding *d, uint32_t n, step *st) {
    const int32_t V = d->model->spec.vocab;
    TRY(tsri_task_token_rules_create(d->model, d->options, d->ends, d->n_ends, &st->rules));
    const int64_t banned = tsri_task_token_rules_ban(&st->rules);
    const bool plain = d->options->temperature == 0 && d->options->repeat_penalty == 1 &&
                       !d->options->logprobs && !d->options->return_logprob && !banned;
    st->banning = banned != 0;
    TRY(tsri_base_new(n, sizeof *st->inputs, &st->inputs));
    TRY(tsri_base_new(n, sizeof *st->active, &st->active));
    st->results.rows = TSRI_ROWS_LAST;
    if (plain) {
        for (int i = 0; i < TSRI_SESSION_AHEAD; i++)
            TRY(tsri_base_new(n, sizeof *st->ids[i], &st->ids[i]));
        return tsri_base_new(n, sizeof *st->results.argmax, &st->results.argmax);
    }
    TRY(tsri_task_sampler_create(d->options, V, &st->sampler));
    const size_t k = banned < 0 ? 0 : (size_t)tsri_task_sampler_top_k(st->sampler, banned);
    if (!k)
        return tsri_base_new((size_t)n * (size_t)V, sizeof *st->results.logits,
                             &st->results.logits);
    st->results.top_k = (int32_t)k;
    TRY(tsri_base_new(n * k, sizeof *st->results.top_logits, &st->results.top_logits));
    TRY(tsri_base_new(n * k, sizeof *st->results.top_ids, &st->results.top_ids));
    return tsri_base_new(n, sizeof *st->results.top_lse, &st->results.top_lse);
}

static const tsri_task_bans *bans_after(step *st, const tsri_task_sequence *s, tsr_status *status) {
    if (!st->banning)
        return NULL;
    *status = tsri_task_bans_reserve(&st->bans, &st->rules, s->ids.count);
    if (*status == TSR_OK)
        tsri_task_bans_set(&st->bans, s->ids.data, (int64_t)s->ids.count, s->generated);
    return &st->bans;
}

static tsr_status choose(const tsri_task_decoding *d, step *st, uint32_t row,
                         tsri_task_sequence *s) {
    const int32_t forced = st->rules.forced_last;
    float logprob = 0;
    int32_t id;
    tsr_status status = TSR_OK;
    if (forced >= 0 && left(d, s) == 1)
        return tsri_task_accept(d, s, forced, 0, NULL);
    if (st->results.argmax)
        return tsri_task_accept(d, s, st->results.argmax[row], 0, NULL);
    const tsri_task_bans *bans = bans_after(st, s, &status);
    TRY(status);
    if (st->results.top_k) {
        const size_t at = (size_t)row * (size_t)st->results.top_k;
        tsri_task_sampler_largest(st->sampler, st->results.top_k, st->results.top_ids + at,
                                  st->results.top_logits + at, st->results.top_lse[row], bans);
    } else {
        tsri_task_sampler_row(st->sampler,
                              st->results.logits + (size_t)row * (size_t)d->model->spec.vocab,
                              s->seen, bans);
    }
    TRY(tsri_task_sampler_draw(st->sampler, (int64_t)s->ids.count, &id, &logprob));
    return tsri_task_accept(d, s, id, logprob, tsri_task_sampler_candidates(st->sampler));
}

/* Starts the step after the last one before that one's ids are known here, where every sequence of it
 * will need another token unless an end token or a stop text is among those that are still to come. */
static tsr_status start_next(const tsri_task_decoding *d, step *st,
                             const tsri_task_sequence *sequences, int64_t unknown) {
    bool started = false;
    if (!st->ids[0] || st->ahead == TSRI_SESSION_AHEAD || st->rules.forced_last >= 0)
        return TSR_OK;
    for (uint32_t row = 0; row < st->n; row++) {
        const tsri_task_sequence *s = &sequences[st->active[row]];
        const int64_t more = left(d, s);
        if (s->finish || (more >= 0 && more <= unknown) ||
            (int64_t)s->ids.count + unknown >= d->context)
            return TSR_OK;
    }
    TRY(tsri_session_follow(d->session, st->ids[st->ahead], &started));
    st->ahead += started;
    return TSR_OK;
}

/* All tokens of the sequences that go on are in their slots. */
static void note_past(const step *st, tsri_task_sequence *sequences) {
    for (uint32_t row = 0; row < st->n; row++) {
        tsri_task_sequence *s = &sequences[st->active[row]];
        if (!s->finish)
            s->past = (int64_t)s->ids.count;
    }
}

/* Waits for the oldest step that was started ahead. Its sequences are those of the step before it. */
static tsr_status finish_next(const tsri_task_decoding *d, step *st,
                              tsri_task_sequence *sequences) {
    int32_t *ids = st->results.argmax;
    TRY(tsri_session_finish(d->session));
    st->results.argmax = st->ids[0];
    st->ids[0] = st->ids[1];
    st->ids[1] = ids;
    st->ahead--;
    note_past(st, sequences);
    return TSR_OK;
}

static tsr_status run_step(const tsri_task_decoding *d, step *st, tsri_task_sequence *sequences,
                           uint32_t n) {
    if (st->ahead) {
        TRY(start_next(d, st, sequences, st->ahead));
        return finish_next(d, st, sequences);
    }
    st->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        tsri_task_sequence *s = &sequences[i];
        if (s->finish)
            continue;
        st->inputs[st->n] = (tsri_model_sequence){.ids = s->ids.data + s->past,
                                                  .n = (int64_t)s->ids.count - s->past,
                                                  .past = s->past,
                                                  .slot = s->slot,
                                                  .source = s->source};
        st->active[st->n++] = i;
    }
    TRY(tsri_session_forward(d->session, st->inputs, (int32_t)st->n, &st->results));
    note_past(st, sequences);
    return start_next(d, st, sequences, 1);
}

/* Does what comes before the first step: ends sequences that have no room, and adds a first token
 * that the model's files force. */
static tsr_status start(const tsri_task_decoding *d, const step *st, tsri_task_sequence *sequences,
                        uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        tsri_task_sequence *s = &sequences[i];
        const int64_t more = left(d, s);
        const bool last_forced = st->rules.forced_last >= 0 && more == 1;
        const tsr_finish finish = more == 0                             ? TSR_FINISH_LENGTH
                                  : (int64_t)s->ids.count >= d->context ? TSR_FINISH_CONTEXT
                                                                        : TSR_FINISH_NONE;
        if (finish)
            TRY(tsri_task_end(d, s, finish));
        else if (st->rules.forced_first >= 0 && s->ids.count == 1 && !last_forced)
            TRY(tsri_task_accept(d, s, st->rules.forced_first, 0, NULL));
    }
    return TSR_OK;
}

static bool all_finished(const tsri_task_sequence *sequences, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!sequences[i].finish)
            return false;
    return true;
}

tsr_status tsri_task_decode(const tsri_task_decoding *d, tsri_task_sequence *sequences,
                            uint32_t n) {
    step st = {0};
    const uint64_t began = tsri_base_now_ns();
    uint64_t first = 0, tokens = 0, first_tokens = 0, prompt = 0;
    for (uint32_t i = 0; i < n; i++)
        prompt += sequences[i].ids.count - (size_t)sequences[i].past;
    tsr_status status = make_step(d, n, &st);
    if (status == TSR_OK)
        status = start(d, &st, sequences, n);
    while (status == TSR_OK && !all_finished(sequences, n)) {
        status = run_step(d, &st, sequences, n);
        if (status != TSR_OK)
            break;
        if (!first) {
            first = tsri_base_now_ns();
            first_tokens = st.n;
        }
        for (uint32_t row = 0; row < st.n && status == TSR_OK; row++) {
            tsri_task_sequence *sequence = &sequences[st.active[row]];
            if (sequence->finish) /* it ended while this step was under way */
                continue;
            status = choose(d, &st, row, sequence);
            tokens++;
        }
    }
    while (st.ahead-- > 0) { /* steps of sequences that ended, or after a failure */
        const tsr_status own = tsri_session_finish(d->session);
        status = status == TSR_OK ? own : status;
    }
    if (d->stats) {
        d->stats->prompt_tokens += prompt;
        d->stats->new_tokens += tokens;
        d->stats->decode_tokens += tokens > first_tokens ? tokens - first_tokens : 0;
        d->stats->prefill_ns += first ? first - began : 0;
        d->stats->first_token_ns = first ? first - began : 0;
        d->stats->decode_ns += first ? tsri_base_now_ns() - first : 0;
    }
    clear_step(&st);
    return status;
}
