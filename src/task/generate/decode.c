/* task/generate/decode.c - what a sequence makes of its tokens: text, stop texts, its end. */
#include "task/generate/decode.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/generate/settings.h"
#include "text/tokenizer/languages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BEAMS = 1024 };

tsr_status tsri_task_options_check(const tsr_generate_options *o, const tsri_model *model) {
    const bool constrained = o->grammar || o->json_schema;
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
        {fabsf(o->presence_penalty) <= 1e30f, "presence_penalty", "a finite number",
         o->presence_penalty},
        {fabsf(o->frequency_penalty) <= 1e30f, "frequency_penalty", "a finite number",
         o->frequency_penalty},
        {o->max_new_tokens >= -1, "max_new_tokens", "0 or more, or -1 for the whole context",
         (double)o->max_new_tokens},
        {o->context >= 0, "context", "0 (the model's context) or more", (double)o->context},
        {o->logprobs <= (uint32_t)model->spec.vocab, "logprobs",
         "at most the size of the vocabulary", o->logprobs},
        {o->num_beams <= MOST_BEAMS, "num_beams", "at most 1024", o->num_beams},
        {o->num_beams <= 1 ||
             (o->presence_penalty == 0 && o->frequency_penalty == 0 && !o->n_logit_bias),
         "num_beams", "at most 1 with presence_penalty, frequency_penalty or logit_bias",
         o->num_beams},
        {o->num_beams <= 1 || !constrained, "num_beams", "at most 1 with a grammar", o->num_beams},
        {o->num_beams <= 1 || !tsri_task_tells_logprobs(o), "num_beams",
         "at most 1 with log-probabilities of tokens", o->num_beams},
        {o->n_best <= (o->num_beams > 1 ? o->num_beams : 1), "n_best", "at most num_beams",
         o->n_best},
        {o->early_stopping <= TSR_EARLY_NEVER, "early_stopping", "a tsr_early_stopping",
         o->early_stopping},
        {isfinite(o->length_penalty), "length_penalty", "a finite number", o->length_penalty},
        {o->coverage_penalty >= 0 && o->coverage_penalty <= 1e30f, "coverage_penalty", "0 or more",
         o->coverage_penalty},
        {o->min_new_tokens >= 0, "min_new_tokens", "0 or more", (double)o->min_new_tokens},
        {o->max_length >= 0, "max_length", "0 (no bound) or more", (double)o->max_length},
        {o->min_length >= 0, "min_length", "0 or more", (double)o->min_length},
        {o->speculate >= -1 && o->speculate < TSRI_SESSION_FEW_ROWS, "speculate", "from -1 to 7",
         o->speculate}};
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
    for (uint32_t i = 0; i < o->n_logit_bias; i++)
        if (o->logit_bias[i].id < 0 || o->logit_bias[i].id >= model->spec.vocab ||
            !(fabsf(o->logit_bias[i].bias) <= 1e30f))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "a bias of %g for token id %d: the bias must be a finite number, "
                                  "and the model's vocabulary has the ids 0 to %d",
                                  (double)o->logit_bias[i].bias, (int)o->logit_bias[i].id,
                                  (int)model->spec.vocab - 1);
    for (uint32_t i = 0; i < o->n_stop; i++)
        if (!o->stop[i] || !*o->stop[i])
            return tsri_base_fail(
                TSR_E_ARGUMENT, "stop text number %u is empty; it must have at least one character",
                i + 1);
    if (o->grammar && o->json_schema)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a grammar and a JSON schema are given; one of them is wanted");
    if ((o->n_stop || constrained) && !model->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "%s a tokenizer, but %s has none",
                              constrained ? "a grammar needs" : "stop texts need", model->path);
    return TSR_OK;
}

static tsr_status copy_stop(const tsr_generate_options *from, tsri_task_own_options *to) {
    tsr_generate_options *o = &to->options;
    o->n_stop = 0; /* those that are copied, so that a failure frees no more */
    TRY(tsri_base_new(from->n_stop, sizeof *to->stop, &to->stop));
    o->stop = (const char *const *)to->stop;
    for (; o->n_stop < from->n_stop; o->n_stop++) {
        const char *text = from->stop[o->n_stop];
        to->stop[o->n_stop] = tsri_base_copy_text(text, strlen(text));
        if (!to->stop[o->n_stop])
            return TSR_E_HOST_MEMORY;
    }
    return TSR_OK;
}

static tsr_status copy_text(const char *from, char **to) {
    *to = from ? tsri_base_copy_text(from, strlen(from)) : NULL;
    return from && !*to ? TSR_E_HOST_MEMORY : TSR_OK;
}

tsr_status tsri_task_own_options_copy(const tsr_generate_options *from, tsri_task_own_options *to) {
    *to = (tsri_task_own_options){.options = *from};
    to->options.chat = NULL;
    TRY(copy_stop(from, to));
    TRY(tsri_base_new(from->n_suppress, sizeof *to->suppress, &to->suppress));
    TRY(tsri_base_new(from->n_logit_bias, sizeof *to->logit_bias, &to->logit_bias));
    for (uint32_t i = 0; i < from->n_suppress; i++)
        to->suppress[i] = from->suppress[i];
    for (uint32_t i = 0; i < from->n_logit_bias; i++)
        to->logit_bias[i] = from->logit_bias[i];
    TRY(copy_text(from->grammar, &to->grammar));
    TRY(copy_text(from->json_schema, &to->json_schema));
    to->options.grammar = to->grammar;
    to->options.json_schema = to->json_schema;
    to->options.suppress = to->suppress;
    to->options.logit_bias = to->logit_bias;
    return TSR_OK;
}

void tsri_task_own_options_clear(tsri_task_own_options *own) {
    for (uint32_t i = 0; own->stop && i < own->options.n_stop; i++)
        free(own->stop[i]);
    free(own->stop);
    free(own->suppress);
    free(own->logit_bias);
    free(own->grammar);
    free(own->json_schema);
    *own = (tsri_task_own_options){0};
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
        TRY(tsri_text_stream_new(tsri_text_target(model->tokenizer), TSRI_TEXT_SKIP_SPECIAL,
                                 &s->stream));
        /* The text of a token may depend on those before it. */
        for (size_t i = 0; i < s->ids.count; i++)
            TRY(tsri_text_stream_push(s->stream, s->ids.data[i], &s->held));
        tsri_text_stream_part(s->stream);
        tsri_base_bytes_clear(&s->held);
    }
    if (tsri_task_changes_logits(options)) {
        TRY(tsri_base_new((size_t)model->spec.vocab, sizeof *s->seen, &s->seen));
        for (size_t i = 0; i < s->ids.count; i++)
            if (s->ids.data[i] >= 0 && s->ids.data[i] < model->spec.vocab)
                s->seen[s->ids.data[i]].in_text = true;
        for (uint32_t i = 0; i < options->n_logit_bias; i++)
            s->seen[options->logit_bias[i].id].bias += options->logit_bias[i].bias;
    }
    if (options->grammar)
        return tsri_text_grammars_match(model->grammars, TSRI_TEXT_GBNF, options->grammar,
                                        &s->matcher);
    return options->json_schema ? tsri_text_grammars_match(model->grammars, TSRI_TEXT_JSON_SCHEMA,
                                                           options->json_schema, &s->matcher)
                                : TSR_OK;
}

void tsri_task_sequence_clear(tsri_task_sequence *s) {
    tsri_text_ids_clear(&s->ids);
    tsri_text_stream_destroy(&s->stream);
    tsri_base_bytes_clear(&s->held);
    free(s->seen);
    tsri_text_matcher_destroy(&s->matcher);
    *s = (tsri_task_sequence){0};
}

tsr_status tsr_grammar_check(const char *grammar) {
    TRY(NEED(grammar));
    return tsri_text_grammar_check(TSRI_TEXT_GBNF, grammar);
}

tsr_status tsr_json_schema_check(const char *json_schema) {
    TRY(NEED(json_schema));
    return tsri_text_grammar_check(TSRI_TEXT_JSON_SCHEMA, json_schema);
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

static bool is_special(const tsri_task_decoding *d, int32_t id) {
    return d->model->tokenizer && tsri_text_is_special(tsri_text_target(d->model->tokenizer), id);
}

/* Compares new text with the stop texts; *text is the part that may be given now. A special token stands between the
 * texts before and behind it, so no stop text is in both. */
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
    if (s->stream && s->finish) /* what it holds back may be the end of a stop text */
        TRY(tsri_text_stream_finish(s->stream, &s->held));
    size_t ready = find_stop(d->options, &s->held, &found);
    if (found)
        s->finish = TSR_FINISH_STOP;
    else if (!s->finish && !is_special(d, id))
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
    g.held_size = s->finish ? 0 : s->held.size - s->given;
    g.finish = s->finish;
    g.score = s->finish ? s->score : 0;
    if (id >= 0 && tsri_task_tells_logprobs(d->options)) {
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

int64_t tsri_task_left(const tsri_task_decoding *d, const tsri_task_sequence *s) {
    const int64_t most = tsri_task_most_new(d->options, (int64_t)s->ids.count - s->generated);
    return most < 0 ? -1 : most > s->generated ? most - s->generated : 0;
}

/* Adds a token to the text of a grammar; *whole: nothing may follow it. */
static tsr_status match(const tsri_task_decoding *d, tsri_task_sequence *s, int32_t id,
                        bool *whole) {
    const tsri_text_tokenizer *tokenizer = tsri_text_target(d->model->tokenizer);
    tsri_bytes bytes = {0};
    tsr_status status = TSR_OK;
    if (tsri_text_is_special(tokenizer, id))
        status = tsri_text_matcher_take_special(s->matcher, id);
    else if ((status = tsri_text_token_bytes(tokenizer, id, &bytes)) == TSR_OK)
        status = tsri_text_matcher_take(s->matcher, bytes.data, bytes.size);
    tsri_base_bytes_clear(&bytes);
    *whole = tsri_text_matcher_must_end(s->matcher);
    return status;
}

tsr_status tsri_task_accept(const tsri_task_decoding *d, tsri_task_sequence *s, int32_t id,
                            float logprob, const tsr_candidate *candidates) {
    TRY(tsri_text_ids_append(&s->ids, &id, 1));
    s->generated++;
    if (s->seen) {
        s->seen[id].in_text = true;
        s->seen[id].generated++;
    }
    bool whole = false;
    if (ends(d, id))
        s->finish = TSR_FINISH_END;
    else if (s->matcher)
        TRY(match(d, s, id, &whole));
    if (!s->finish && !whole) {
        if (tsri_task_left(d, s) == 0)
            s->finish = TSR_FINISH_LENGTH;
        else if ((int64_t)s->ids.count >= d->context)
            s->finish = TSR_FINISH_CONTEXT;
    }
    TRY(give(d, s, id, logprob, candidates));
    return whole && !s->finish ? tsri_task_end(d, s, TSR_FINISH_END) : TSR_OK;
}

tsr_status tsri_task_end(const tsri_task_decoding *d, tsri_task_sequence *s, tsr_finish finish) {
    s->finish = finish;
    return give(d, s, -1, 0, NULL);
}
