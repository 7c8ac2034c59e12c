/* task/generate/batch.c - the steps of decoding: which sequences run together, what the device is asked
 * for, and which token each of them gets. */
#include "task/generate/batch.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Prompts of so few tokens share a run: the weights are read once for all of them. Longer ones fill a
 * run by themselves, without padding. */
enum { SHORT = 64, TINY = 16 };
enum { FIRST_HITS = 8 }; /* guesses of a text that must have been right before one is computed */

struct tsri_task_batch {
    tsri_task_batch_options options;
    tsri_session *session;
    tsri_task_member **members; /* [slots] in the order in which they joined */
    tsri_task_member **rows;    /* [slots] those of the last run */
    tsri_model_sequence *inputs;
    uint32_t n, n_rows;
    int64_t *drafted;                   /* [slots] how many tokens of each input are guessed */
    int32_t fed[TSRI_SESSION_FEW_ROWS]; /* the tokens of a run with guesses */
    uint32_t n_fed;
    tsri_task_draft drafts[TSRI_SESSION_FEW_ROWS];
    tsri_model_results results; /* of the last run; of argmax and drawn, which of them it gave */
    /* What the device chose in it, by argmax or by draws; in those under way, the oldest first */
    int32_t *chosen, *ids[TSRI_SESSION_AHEAD];
    tsri_tensor_draw *draws;
    int32_t *top_ids;
    float *top_logits, *top_lse, *logits;
    size_t top_logits_room, top_ids_room, logits_room;
    tsri_task_sampler *sampler;
    tsri_task_bans bans;
    int32_t ahead; /* runs under way */
    tsri_task_batch_counts counts;
};

/* Rows of a run whose results are wanted. */
static uint32_t most_rows(const tsri_task_batch_options *options) {
    return options->slots > TSRI_SESSION_FEW_ROWS ? options->slots : TSRI_SESSION_FEW_ROWS;
}

tsr_status tsri_task_batch_create(tsri_session *session, const tsri_task_batch_options *options,
                                  tsri_task_batch **out) {
    tsri_task_batch *b;
    const size_t slots = options->slots, rows = most_rows(options);
    TRY(tsri_base_new(1, sizeof *b, &b));
    b->session = session;
    b->options = *options;
    tsr_status status = tsri_base_new(slots, sizeof(void *), &b->members);
    if (status == TSR_OK)
        status = tsri_base_new(slots, sizeof(void *), &b->rows);
    if (status == TSR_OK)
        status = tsri_base_new(slots, sizeof *b->inputs, &b->inputs);
    if (status == TSR_OK)
        status = tsri_base_new(slots, sizeof *b->drafted, &b->drafted);
    if (status == TSR_OK)
        status = tsri_base_new(rows, sizeof *b->chosen, &b->chosen);
    if (status == TSR_OK)
        status = tsri_base_new(rows, sizeof *b->draws, &b->draws);
    for (int i = 0; i < TSRI_SESSION_AHEAD && status == TSR_OK; i++)
        status = tsri_base_new(rows, sizeof *b->ids[i], &b->ids[i]);
    if (status == TSR_OK)
        status = tsri_base_new(rows, sizeof *b->top_lse, &b->top_lse);
    if (status != TSR_OK)
        tsri_task_batch_destroy(&b);
    *out = b;
    return status;
}

void tsri_task_batch_destroy(tsri_task_batch **batch) {
    tsri_task_batch *b = *batch;
    if (!b)
        return;
    for (; b->ahead > 0; b->ahead--)
        (void)tsri_session_finish(b->session); /* they write to our memory */
    for (int i = 0; i < TSRI_SESSION_AHEAD; i++)
        free(b->ids[i]);
    void *const arrays[] = {b->members, b->rows,     b->inputs,  b->chosen,
                            b->draws,   b->top_ids,  b->top_lse, b->top_logits,
                            b->logits,  b->bans.ids, b->drafted};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    tsri_task_sampler_destroy(&b->sampler);
    free(b);
    *batch = NULL;
}

bool tsri_task_batch_busy(const tsri_task_batch *batch) {
    return batch->ahead > 0;
}

const tsri_task_batch_counts *tsri_task_batch_counts_of(const tsri_task_batch *batch) {
    return &batch->counts;
}

/* ---- members ---- */

static int32_t vocab(const tsri_task_member *m) {
    return m->decoding->model->spec.vocab;
}

/* How many of the largest logits the device finds for a member that needs `top_k`. */
static int32_t kept(const tsri_task_batch *b, const tsri_task_member *m, int32_t top_k) {
    const int32_t fixed = b->options.kept < vocab(m) ? b->options.kept : vocab(m);
    return fixed ? fixed : top_k;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many rows of logits a run gives at most. */
static int64_t scored_rows(const tsri_task_batch *b, const tsri_task_member *m) {
    const int64_t rows = tsri_task_scored_rows(vocab(m)), step = b->options.step_tokens;
    return smaller(smaller(rows, step ? step : rows), m->decoding->context);
}

static tsr_status make_logits_room(tsri_task_batch *b, const tsri_task_member *m, int64_t rows) {
    return tsri_base_grow(&b->logits, &b->logits_room, (size_t)rows * (size_t)vocab(m),
                          sizeof *b->logits);
}

/* Finds what a member needs of each step, and makes room for it. */
static tsr_status plan_member(tsri_task_batch *b, tsri_task_member *m) {
    const tsr_generate_options *o = m->decoding->options;
    const int64_t banned = m->sequence->matcher ? -1 : tsri_task_token_rules_ban(m->rules);
    m->banning = banned != 0;
    m->greedy = o->temperature == 0 && !tsri_task_changes_logits(o) && !o->logprobs &&
                !o->return_logprob && !banned;
    m->top_k = 0;
    if (!m->greedy) {
        if (!b->sampler)
            TRY(tsri_task_sampler_create(o, vocab(m), &b->sampler));
        TRY(tsri_task_sampler_use(b->sampler, o));
        m->top_k = banned < 0 ? 0 : tsri_task_sampler_top_k(b->sampler, banned);
        if (m->top_k > kept(b, m, m->top_k))
            m->top_k = 0;
    }
    m->drawn = m->top_k && o->temperature > 0 && !o->logprobs && !o->return_logprob && !banned;
    if (m->scoring)
        TRY(make_logits_room(b, m, scored_rows(b, m)));
    if (!m->greedy && !m->top_k)
        return make_logits_room(b, m, most_rows(&b->options));
    const size_t top =
        (size_t)most_rows(&b->options) * (size_t)kept(b, m, m->greedy ? 1 : m->top_k);
    TRY(tsri_base_grow(&b->top_logits, &b->top_logits_room, top, sizeof *b->top_logits));
    return tsri_base_grow(&b->top_ids, &b->top_ids_room, top, sizeof *b->top_ids);
}

/* Tokens of a member that are not yet in its slot. */
static int64_t unfed(const tsri_task_member *m) {
    return (int64_t)m->sequence->ids.count - m->sequence->past;
}

/* Whether tokens of its prompt are to be scored: all but the last are fed for that. The last one is fed
 * for the first new token, as in every other request. */
static bool scores(const tsri_task_member *m) {
    return m->scoring && unfed(m) > 1;
}

/* Ends a sequence that has no room for a new token. */
static tsr_status end_full(const tsri_task_member *m) {
    const tsri_task_decoding *d = m->decoding;
    if (tsri_task_left(d, m->sequence) == 0)
        return tsri_task_end(d, m->sequence, TSR_FINISH_LENGTH);
    if ((int64_t)m->sequence->ids.count >= d->context)
        return tsri_task_end(d, m->sequence, TSR_FINISH_CONTEXT);
    return TSR_OK;
}

/* Gives the first token of a prompt that is scored, ends a sequence that has no room, or adds a first
 * token that the model's files force. */
static tsr_status start_member(const tsri_task_member *m) {
    const tsri_task_decoding *d = m->decoding;
    tsri_task_sequence *s = m->sequence;
    if (m->scoring)
        TRY(tsri_task_score_token(m->scoring, d, s, 0, NULL));
    if (scores(m))
        return TSR_OK;
    TRY(end_full(m));
    if (s->finish)
        return TSR_OK;
    const bool last_forced = m->rules->forced_last >= 0 && tsri_task_left(d, s) == 1;
    if (m->rules->forced_first >= 0 && s->ids.count == 1 && !last_forced)
        return tsri_task_accept(d, s, m->rules->forced_first, 0, NULL);
    return TSR_OK;
}

tsr_status tsri_task_batch_add(tsri_task_batch *batch, tsri_task_member *member) {
    member->status = TSR_OK;
    TRY(plan_member(batch, member));
    TRY(start_member(member));
    batch->members[batch->n++] = member;
    return TSR_OK;
}

void tsri_task_batch_remove(tsri_task_batch *batch, const tsri_task_member *member) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < batch->n; i++)
        if (batch->members[i] != member)
            batch->members[left++] = batch->members[i];
    batch->n = left;
}

static bool goes_on(const tsri_task_member *m) {
    return !m->sequence->finish && m->status == TSR_OK;
}

/* Whether a member has yet to take in its prompt, be it of one token. */
static bool reads_prompt(const tsri_task_member *m) {
    return goes_on(m) && (unfed(m) > 1 || m->sequence->past == 0);
}

/* Whether it has, and gets a token in each step. */
static bool decodes(const tsri_task_member *m) {
    return goes_on(m) && !reads_prompt(m);
}

/* ---- tokens ---- */

static tsr_status bans_after(tsri_task_batch *b, const tsri_task_member *m,
                             const tsri_task_bans **bans) {
    const tsri_task_sequence *s = m->sequence;
    *bans = NULL;
    if (!m->banning)
        return TSR_OK;
    TRY(tsri_task_bans_reserve(&b->bans, m->rules, s->ids.count));
    tsri_task_bans_set(&b->bans, s->ids.data, (int64_t)s->ids.count, s->generated);
    if (s->matcher) {
        TRY(tsri_text_matcher_mask(s->matcher, &b->bans.mask));
        b->bans.known = tsri_text_matcher_vocabulary(s->matcher);
        b->bans.may_end = tsri_text_matcher_may_end(s->matcher);
    }
    *bans = &b->bans;
    return TSR_OK;
}

static tsr_status choose(tsri_task_batch *b, const tsri_task_member *m, size_t row) {
    const tsri_task_decoding *d = m->decoding;
    const tsri_model_results *r = &b->results;
    const size_t at = row * (size_t)r->top_k;
    tsri_task_sequence *s = m->sequence;
    const int32_t forced = m->rules->forced_last;
    const tsri_task_bans *bans;
    float logprob = 0;
    int32_t id;
    if (forced >= 0 && tsri_task_left(d, s) == 1)
        return tsri_task_accept(d, s, forced, 0, NULL);
    if (r->argmax || r->drawn)
        return b->chosen[row] < 0 ? tsri_task_not_drawn((int64_t)s->ids.count, b->chosen[row])
                                  : tsri_task_accept(d, s, b->chosen[row], 0, NULL);
    if (m->greedy)
        return tsri_task_accept(d, s, r->top_ids[at], 0, NULL);
    TRY(tsri_task_sampler_use(b->sampler, d->options));
    TRY(bans_after(b, m, &bans));
    if (m->top_k)
        tsri_task_sampler_largest(b->sampler, m->top_k, r->top_ids + at, r->top_logits + at,
                                  r->top_lse[row], bans);
    else
        tsri_task_sampler_row(b->sampler, r->logits + row * (size_t)vocab(m), s->seen, bans);
    TRY(tsri_task_sampler_draw(b->sampler, (int64_t)s->ids.count, &id, &logprob));
    return tsri_task_accept(d, s, id, logprob, tsri_task_sampler_candidates(b->sampler));
}

static tsr_status fail_member(tsri_task_batch *b, tsri_task_member *m, tsr_status status) {
    m->status = status;
    return b->options.failed ? b->options.failed(b->options.data, m) : status;
}

/* Gives member i of the last run its next token, which is chosen from row `row`, and another one for
 * each guess that is right. What is behind a wrong one is not in its slot. */
static tsr_status give_member(tsri_task_batch *b, uint32_t i, size_t row) {
    const tsri_task_member *m = b->rows[i];
    tsri_task_sequence *s = m->sequence;
    const int32_t *guessed = b->inputs[i].ids + 1;
    for (int64_t j = 0;; j++) {
        b->counts.tokens++;
        TRY(choose(b, m, row + (size_t)j));
        if (j == b->drafted[i] || s->ids.data[s->ids.count - 1] != guessed[j])
            return TSR_OK;
        b->counts.accepted++;
        if (!goes_on(m))
            return TSR_OK;
        s->past++;
    }
}

/* Gives a token to each member of the last run whose tokens are all in its slot. */
static tsr_status give_tokens(tsri_task_batch *b) {
    size_t row = 0;
    if (!b->counts.first_ns)
        b->counts.first_ns = tsri_base_now_ns();
    for (uint32_t i = 0; i < b->n_rows; row += 1 + (size_t)b->drafted[i++]) {
        tsri_task_member *m = b->rows[i];
        if (!goes_on(m) || unfed(m)) /* it ended while this run was under way; or more is to come */
            continue;
        const tsr_status status = give_member(b, i, row);
        if (status != TSR_OK)
            TRY(fail_member(b, m, status));
    }
    return TSR_OK;
}

/* ---- guesses ---- */

/* How many tokens may be guessed for a member: no more than it may get, and not so many that its memory
 * must grow for them. */
static int64_t most_drafts(const tsri_task_batch *b, const tsri_task_member *m, bool gains) {
    const tsri_task_decoding *d = m->decoding;
    const int64_t tokens = (int64_t)m->sequence->ids.count, left = tsri_task_left(d, m->sequence),
                  asked = d->options->speculate,
                  own = asked   ? asked
                        : gains ? TSRI_SESSION_FEW_ROWS - 1
                                : 0,
                  most =
                      smaller(smaller(d->context - 1, tsri_session_capacity(b->session)) - tokens,
                              left < 0 ? own : left - 1);
    return smaller(own, most);
}

/* Whether there is a guess, and enough of them were right already: guesses want kernels of their own, which
 * may have to be built. */
static bool worth(const tsri_task_lookup *lookup) {
    return lookup->next && lookup->hits >= FIRST_HITS;
}

/* Chooses how many tokens are guessed for each member of the next step: in b->drafts, in the order of the
 * members. *any: not 0 for all of them. */
static tsr_status choose_drafts(tsri_task_batch *b, bool *any) {
    uint32_t n = 0;
    bool can, gains;
    *any = false;
    for (uint32_t i = 0; i < b->n; i++)
        n += decodes(b->members[i]);
    if (!n || 2 * n > TSRI_SESSION_FEW_ROWS)
        return TSR_OK;
    TRY(tsri_session_can_draft(b->session, &can, &gains));
    n = 0;
    for (uint32_t i = 0; i < b->n && can; i++) {
        const tsri_task_member *m = b->members[i];
        tsri_task_lookup *lookup = &m->sequence->lookup;
        if (!decodes(m))
            continue;
        const int64_t most = most_drafts(b, m, gains);
        if (most > 0)
            tsri_task_lookup_update(lookup, m->sequence->ids.data, (int64_t)m->sequence->ids.count);
        b->drafts[n++] =
            (tsri_task_draft){.lookup = lookup, .most = most > 0 && worth(lookup) ? most : 0};
    }
    tsri_task_drafts_choose(b->drafts, n, TSRI_SESSION_FEW_ROWS);
    for (uint32_t i = 0; i < n; i++)
        *any |= b->drafts[i].n > 0;
    return TSR_OK;
}

/* ---- runs ---- */

static void take(tsri_task_batch *b, tsri_task_member *m, int64_t n) {
    const tsri_task_sequence *s = m->sequence;
    b->inputs[b->n_rows] = (tsri_model_sequence){.ids = s->ids.data + s->past,
                                                 .n = n,
                                                 .past = s->past,
                                                 .slot = s->slot,
                                                 .source = s->source};
    b->drafted[b->n_rows] = 0;
    b->rows[b->n_rows++] = m;
}

/* Takes a member's last token, and n that are guessed to follow it. */
static void take_guessing(tsri_task_batch *b, tsri_task_member *m, int64_t n) {
    const tsri_task_sequence *s = m->sequence;
    int32_t *fed = b->fed + b->n_fed;
    fed[0] = s->ids.data[s->past];
    for (int64_t i = 0; i < n; i++)
        fed[1 + i] = tsri_task_lookup_token(&s->lookup, s->ids.data, i);
    take(b, m, 1 + n);
    b->inputs[b->n_rows - 1].ids = fed;
    b->drafted[b->n_rows - 1] = n;
    b->n_fed += 1 + (uint32_t)n;
    b->counts.drafts += n > 0;
    b->counts.drafted += (uint64_t)n;
}

/* How the rows of a run are drawn, `unknown` tokens behind those that are known here. */
static void set_draws(tsri_task_batch *b, int64_t unknown) {
    size_t row = 0;
    for (uint32_t i = 0; i < b->n_rows; i++) {
        const tsri_task_member *m = b->rows[i];
        const int64_t position = (int64_t)m->sequence->ids.count + unknown;
        for (int64_t j = 0; j <= b->drafted[i]; j++)
            b->draws[row++] = tsri_task_draw_of(m->decoding->options, position + j);
    }
}

/* Asks for what the members of a run need. There are few kinds of runs, because the graph of each has
 * plans of its own. */
static void want(tsri_task_batch *b) {
    bool greedy = true, drawn = true, whole = false, guesses = false;
    int32_t k = 0;
    for (uint32_t row = 0; row < b->n_rows; row++) {
        const tsri_task_member *m = b->rows[row];
        guesses |= b->drafted[row] > 0;
        const int32_t own = m->greedy ? 1 : m->top_k, most = own ? kept(b, m, own) : 0;
        greedy &= m->greedy;
        drawn &= m->greedy || m->drawn;
        whole |= !m->greedy && !m->top_k;
        k = most > k ? most : k;
    }
    b->results = (tsri_model_results){.rows = guesses ? TSRI_ROWS_ALL : TSRI_ROWS_LAST};
    if (greedy) {
        b->results.argmax = b->chosen;
        return;
    }
    b->results.top_k = k;
    if (drawn) {
        set_draws(b, 0);
        b->results.draws = b->draws;
        b->results.drawn = b->chosen;
        return;
    }
    b->results.logits = whole ? b->logits : NULL;
    b->results.top_logits = b->top_logits;
    b->results.top_ids = b->top_ids;
    b->results.top_lse = b->top_lse;
}

static tsr_status forward(tsri_task_batch *b) {
    TRY(tsri_session_forward(b->session, b->inputs, (int32_t)b->n_rows, &b->results));
    for (uint32_t row = 0; row < b->n_rows; row++)
        b->rows[row]->sequence->past += b->inputs[row].n - b->drafted[row];
    return TSR_OK;
}

static tsr_status run(tsri_task_batch *b) {
    want(b);
    return forward(b);
}

static uint32_t going(const tsri_task_batch *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        n += goes_on(b->members[i]);
    return n;
}

/* Starts the run after the last one before that one's ids are known here, where every member will need
 * another token unless an end token or a stop text is among those that are still to come. */
static tsr_status start_next(tsri_task_batch *b, int64_t unknown) {
    bool started = false;
    const bool draws = b->results.drawn;
    if ((!b->results.argmax && !draws) || b->ahead == TSRI_SESSION_AHEAD || going(b) != b->n_rows)
        return TSR_OK;
    for (uint32_t row = 0; row < b->n_rows; row++) {
        const tsri_task_member *m = b->rows[row];
        const int64_t more = tsri_task_left(m->decoding, m->sequence);
        if (!goes_on(m) || m->rules->forced_last >= 0 || (more >= 0 && more <= unknown) ||
            (int64_t)m->sequence->ids.count + unknown >= m->decoding->context)
            return TSR_OK;
    }
    if (draws)
        set_draws(b, unknown);
    TRY(tsri_session_follow(b->session, draws ? b->draws : NULL, b->ids[b->ahead], &started));
    b->ahead += started;
    return TSR_OK;
}

/* Waits for the oldest run under way. Its members are those of the run before it. */
static tsr_status finish_next(tsri_task_batch *b) {
    int32_t *ids = b->chosen;
    TRY(tsri_session_finish(b->session));
    b->chosen = b->ids[0];
    for (int i = 0; i + 1 < TSRI_SESSION_AHEAD; i++)
        b->ids[i] = b->ids[i + 1];
    b->ids[TSRI_SESSION_AHEAD - 1] = ids;
    b->ahead--;
    for (uint32_t row = 0; row < b->n_rows; row++)
        if (goes_on(b->rows[row]))
            b->rows[row]->sequence->past++;
    return TSR_OK;
}

/* One token of each member that has taken in its prompt, and those that are guessed. */
static tsr_status decode(tsri_task_batch *b) {
    uint32_t n = 0;
    bool guesses;
    b->n_rows = b->n_fed = 0;
    TRY(choose_drafts(b, &guesses));
    for (uint32_t i = 0; i < b->n; i++) {
        if (!decodes(b->members[i]))
            continue;
        if (guesses)
            take_guessing(b, b->members[i], b->drafts[n++].n);
        else
            take(b, b->members[i], 1);
    }
    if (!b->n_rows)
        return TSR_OK;
    TRY(run(b));
    TRY(start_next(b, 1));
    return give_tokens(b);
}

/* Takes in a part of a prompt, of at most `room` tokens, and gives the tokens whose logits it has. */
static tsr_status score_part(tsri_task_batch *b, tsri_task_member *m, int64_t room) {
    const int64_t from = m->sequence->past,
                  n = smaller(unfed(m) - 1, smaller(room, scored_rows(b, m)));
    tsr_status status = TSR_OK;
    b->n_rows = 0;
    take(b, m, n);
    b->results = (tsri_model_results){.rows = TSRI_ROWS_ALL, .logits = b->logits};
    TRY(forward(b));
    for (int64_t i = 0; i < n && goes_on(m) && status == TSR_OK; i++)
        status = tsri_task_score_token(m->scoring, m->decoding, m->sequence, from + i + 1,
                                       b->logits + i * vocab(m));
    if (status == TSR_OK && goes_on(m) && !scores(m))
        status = end_full(m);
    return status == TSR_OK ? TSR_OK : fail_member(b, m, status);
}

static tsr_status score(tsri_task_batch *b, tsri_task_member *m, int64_t *room) {
    while (goes_on(m) && scores(m) && *room > 0) {
        const int64_t before = m->sequence->past;
        TRY(score_part(b, m, *room));
        *room -= m->sequence->past - before;
    }
    return TSR_OK;
}

static bool alike(int64_t a, int64_t b) {
    const int64_t most = a > b ? a : b;
    return most <= TINY || (most <= SHORT && (most - smaller(a, b)) * 4 <= most);
}

/* Takes in prompts, as many tokens as the step allows. With dynamic scaling a prompt's keys depend on
 * the length of its run, so it is not cut. */
static tsr_status prefill(tsri_task_batch *b) {
    int64_t room = b->options.step_tokens ? b->options.step_tokens : INT64_MAX;
    for (uint32_t i = 0; i < b->n && room > 0; i++) {
        tsri_task_member *first = b->members[i];
        if (scores(first)) {
            TRY(score(b, first, &room));
            continue;
        }
        if (!reads_prompt(first))
            continue;
        const bool whole =
            first->decoding->model->spec.decoder.rope.scaling == TSRI_SCALING_DYNAMIC;
        const int64_t piece = whole ? unfed(first) : smaller(unfed(first), room);
        int64_t longest = piece;
        b->n_rows = 0;
        take(b, first, piece);
        for (uint32_t j = i + 1; j < b->n && piece == unfed(first); j++) {
            tsri_task_member *m = b->members[j];
            const int64_t n = unfed(m), most = n > longest ? n : longest;
            if (!reads_prompt(m) || scores(m) || !alike(n, piece) || (b->n_rows + 1) * most > room)
                continue;
            take(b, m, n);
            longest = most;
        }
        TRY(run(b));
        TRY(give_tokens(b));
        room -= b->n_rows * longest;
    }
    return TSR_OK;
}

tsr_status tsri_task_batch_settle(tsri_task_batch *batch) {
    while (batch->ahead) {
        TRY(finish_next(batch));
        TRY(give_tokens(batch));
    }
    return TSR_OK;
}

tsr_status tsri_task_batch_step(tsri_task_batch *batch) {
    if (batch->ahead) {
        bool guesses; /* then the next run is not started ahead */
        TRY(choose_drafts(batch, &guesses));
        if (!guesses)
            TRY(start_next(batch, batch->ahead));
        TRY(finish_next(batch));
        return give_tokens(batch);
    }
    TRY(decode(batch));
    return prefill(batch);
}
