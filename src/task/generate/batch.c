/* task/generate/batch.c - the steps of decoding: which sequences run together, and what the device is asked
 * for. */
#include "task/generate/batch_parts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* Prompts of so few tokens share a run: the weights are read once for all of them. Longer ones fill a
 * run by themselves, without padding. */
enum { SHORT = 64, TINY = 16 };

tsr_status tsri_task_batch_create(tsri_session *session, const tsri_task_batch_options *options,
                                  tsri_task_batch **out) {
    tsri_task_batch *b;
    const size_t slots = options->slots, rows = tsri_task_batch_most_rows(options);
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
    if (b->begun)
        tsri_session_give_up(b->session); /* the same */
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
    return batch->ahead > 0 || batch->begun;
}

const tsri_task_batch_counts *tsri_task_batch_counts_of(const tsri_task_batch *batch) {
    return &batch->counts;
}

tsr_status tsri_task_batch_add(tsri_task_batch *batch, tsri_task_member *member) {
    member->status = TSR_OK;
    TRY(tsri_task_batch_plan(batch, member));
    TRY(tsri_task_member_start(member));
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

/* ---- runs ---- */

static void take(tsri_task_batch *b, tsri_task_member *m, int64_t n) {
    const tsri_task_sequence *s = m->sequence;
    b->inputs[b->n_rows] = (tsri_model_sequence){.ids = s->ids.data + s->past,
                                                 .n = n,
                                                 .past = s->past,
                                                 .slot = s->slot,
                                                 .pages = s->pages ? &s->pages->pages : NULL,
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

/* The masks of the tokens that follow those of a run, which grammars keep by state: choosing then looks
 * them up. A grammar that fails does so again there, where its member can. */
static void make_masks(void *data) {
    const tsri_task_batch *b = data;
    const uint32_t *mask;
    for (uint32_t row = 0; row < b->n_rows; row++)
        if (b->rows[row]->sequence->matcher)
            (void)!tsri_text_matcher_mask(b->rows[row]->sequence->matcher, &mask);
}

/* Asks for what the members of a run need. There are few kinds of runs, because the graph of each has
 * plans of its own. */
static void want(tsri_task_batch *b) {
    bool greedy = true, drawn = true, whole = false, guesses = false, masks = false;
    int32_t k = 0;
    for (uint32_t row = 0; row < b->n_rows; row++) {
        const tsri_task_member *m = b->rows[row];
        guesses |= b->drafted[row] > 0;
        const int32_t own = m->greedy ? 1 : m->top_k,
                      most = own ? tsri_task_member_kept(b, m, own) : 0;
        greedy &= m->greedy;
        drawn &= m->greedy || m->drawn;
        whole |= !m->greedy && !m->top_k;
        masks |= m->sequence->matcher != NULL;
        k = most > k ? most : k;
    }
    b->results = (tsri_model_results){.rows = guesses ? TSRI_ROWS_ALL : TSRI_ROWS_LAST,
                                      .meanwhile = masks ? make_masks : NULL,
                                      .meanwhile_data = b};
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

/* The tokens of the last run are in the slots of its members. */
static void note_fed(tsri_task_batch *b) {
    for (uint32_t row = 0; row < b->n_rows; row++)
        b->rows[row]->sequence->past += b->inputs[row].n - b->drafted[row];
}

static tsr_status forward(tsri_task_batch *b) {
    TRY(tsri_session_forward(b->session, b->inputs, (int32_t)b->n_rows, &b->results));
    note_fed(b);
    return TSR_OK;
}

static tsr_status run(tsri_task_batch *b) {
    want(b);
    return forward(b);
}

static uint32_t going(const tsri_task_batch *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        n += tsri_task_member_goes_on(b->members[i]);
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
        if (!tsri_task_member_goes_on(m) || m->rules->forced_last >= 0 ||
            (more >= 0 && more <= unknown) ||
            (int64_t)m->sequence->ids.count + unknown >= m->decoding->context ||
            !tsri_task_member_fits(b, m, (int64_t)m->sequence->ids.count + unknown))
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
        if (tsri_task_member_goes_on(b->rows[row]))
            b->rows[row]->sequence->past++;
    return TSR_OK;
}

/* Begins a run of one token of each member that has taken in its prompt, and of those that are
 * guessed. */
static tsr_status begin_decode(tsri_task_batch *b) {
    uint32_t n = 0;
    bool guesses;
    b->n_rows = b->n_fed = 0;
    TRY(tsri_task_batch_guess(b, &guesses));
    for (uint32_t i = 0; i < b->n; i++) {
        if (!tsri_task_member_decodes(b->members[i]))
            continue;
        if (guesses)
            take_guessing(b, b->members[i], b->drafts[n++].n);
        else
            take(b, b->members[i], 1);
    }
    if (!b->n_rows)
        return TSR_OK;
    want(b);
    TRY(tsri_session_begin(b->session, b->inputs, (int32_t)b->n_rows, &b->results, &b->pass));
    b->begun = true;
    return TSR_OK;
}

static tsr_status end_decode(tsri_task_batch *b) {
    if (!b->begun)
        return TSR_OK;
    TRY(tsri_session_end(b->session, b->pass));
    b->begun = false;
    note_fed(b);
    TRY(start_next(b, 1));
    return tsri_task_batch_give(b);
}

/* Takes in a part of a prompt, of at most `room` tokens, and gives the tokens whose logits it has. */
static tsr_status score_part(tsri_task_batch *b, tsri_task_member *m, int64_t room) {
    const int64_t from = m->sequence->past,
                  n = tsri_task_smaller(tsri_task_member_unfed(m) - 1,
                                        tsri_task_smaller(room, tsri_task_batch_scored_rows(b, m)));
    tsr_status status = TSR_OK;
    b->n_rows = 0;
    take(b, m, n);
    b->results = (tsri_model_results){.rows = TSRI_ROWS_ALL, .logits = b->logits};
    TRY(forward(b));
    for (int64_t i = 0; i < n && tsri_task_member_goes_on(m) && status == TSR_OK; i++)
        status = tsri_task_score_token(m->scoring, m->decoding, m->sequence, from + i + 1,
                                       b->logits + i * tsri_task_member_vocab(m));
    if (status == TSR_OK && tsri_task_member_goes_on(m) && !tsri_task_member_scores(m))
        status = tsri_task_member_end_full(m);
    return status == TSR_OK ? TSR_OK : tsri_task_batch_fail(b, m, status);
}

static tsr_status score(tsri_task_batch *b, tsri_task_member *m, int64_t *room) {
    while (tsri_task_member_goes_on(m) && tsri_task_member_scores(m) && *room > 0) {
        const int64_t before = m->sequence->past;
        TRY(score_part(b, m, *room));
        *room -= m->sequence->past - before;
    }
    return TSR_OK;
}

static bool alike(int64_t a, int64_t b) {
    const int64_t most = a > b ? a : b;
    return most <= TINY || (most <= SHORT && (most - tsri_task_smaller(a, b)) * 4 <= most);
}

/* Takes in prompts, as many tokens as the step allows. With dynamic scaling a prompt's keys depend on
 * the length of its run, so it is not cut. */
static tsr_status prefill(tsri_task_batch *b) {
    const int64_t all = tsri_task_batch_room(b);
    const uint64_t begun = tsri_base_now_ns();
    int64_t room = all;
    for (uint32_t i = 0; i < b->n && room > 0; i++) {
        tsri_task_member *first = b->members[i];
        if (tsri_task_member_scores(first)) {
            TRY(score(b, first, &room));
            continue;
        }
        if (!tsri_task_member_reads(first))
            continue;
        const bool whole =
            first->decoding->model->spec.decoder.rope.scaling == TSRI_SCALING_DYNAMIC;
        const int64_t piece = whole ? tsri_task_member_unfed(first)
                                    : tsri_task_smaller(tsri_task_member_unfed(first), room);
        int64_t longest = piece;
        b->n_rows = 0;
        take(b, first, piece);
        for (uint32_t j = i + 1; j < b->n && piece == tsri_task_member_unfed(first); j++) {
            tsri_task_member *m = b->members[j];
            const int64_t n = tsri_task_member_unfed(m), most = n > longest ? n : longest;
            if (!tsri_task_member_reads(m) || tsri_task_member_scores(m) || !alike(n, piece) ||
                (b->n_rows + 1) * most > room)
                continue;
            take(b, m, n);
            longest = most;
        }
        TRY(run(b));
        TRY(tsri_task_batch_give(b));
        room -= b->n_rows * longest;
    }
    tsri_task_batch_note_prompts(b, begun, all - room);
    return TSR_OK;
}

tsr_status tsri_task_batch_settle(tsri_task_batch *batch) {
    while (batch->ahead) {
        TRY(finish_next(batch));
        TRY(tsri_task_batch_give(batch));
    }
    return TSR_OK;
}

tsr_status tsri_task_batch_step(tsri_task_batch *batch) {
    const uint64_t begun = tsri_base_now_ns();
    if (batch->ahead) {
        bool guesses; /* then the next run is not started ahead */
        TRY(tsri_task_batch_guess(batch, &guesses));
        if (!guesses)
            TRY(start_next(batch, batch->ahead));
        TRY(finish_next(batch));
        TRY(tsri_task_batch_give(batch));
        tsri_task_batch_pace(batch, begun);
        return TSR_OK;
    }
    TRY(begin_decode(batch));
    TRY(end_decode(batch));
    tsri_task_batch_pace(batch, begun);
    return prefill(batch);
}

tsr_status tsri_task_batch_turn(tsri_task_batch *batch) {
    TRY(end_decode(batch));
    TRY(prefill(batch));
    return begin_decode(batch);
}
