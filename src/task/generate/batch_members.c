/* task/generate/batch_members.c - what a member needs of each step, and which token it gets. */
#include "task/generate/batch_parts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>

int64_t tsri_task_batch_scored_rows(const tsri_task_batch *b, const tsri_task_member *m) {
    const int64_t rows = tsri_task_scored_rows(tsri_task_member_vocab(m)),
                  step = b->options.step_tokens;
    return tsri_task_smaller(tsri_task_smaller(rows, step > 0 ? step : rows), m->decoding->context);
}

static tsr_status make_logits_room(tsri_task_batch *b, const tsri_task_member *m, int64_t rows) {
    return tsri_base_grow(&b->logits, &b->logits_room,
                          (size_t)rows * (size_t)tsri_task_member_vocab(m), sizeof *b->logits);
}

tsr_status tsri_task_batch_plan(tsri_task_batch *b, tsri_task_member *m) {
    const tsr_generate_options *o = m->decoding->options;
    const int64_t banned = m->sequence->matcher ? -1 : tsri_task_token_rules_ban(m->rules);
    m->banning = banned != 0;
    m->greedy = o->temperature == 0 && !tsri_task_changes_logits(o) &&
                !tsri_task_tells_logprobs(o) && !banned;
    m->top_k = 0;
    if (!m->greedy) {
        if (!b->sampler)
            TRY(tsri_task_sampler_create(o, tsri_task_member_vocab(m), &b->sampler));
        TRY(tsri_task_sampler_use(b->sampler, o));
        m->top_k = banned < 0 ? 0 : tsri_task_sampler_top_k(b->sampler, banned);
        if (m->top_k > tsri_task_member_kept(b, m, m->top_k))
            m->top_k = 0;
    }
    m->drawn = m->top_k && o->temperature > 0 && !tsri_task_tells_logprobs(o) && !banned;
    if (m->scoring)
        TRY(make_logits_room(b, m, tsri_task_batch_scored_rows(b, m)));
    if (!m->greedy && !m->top_k)
        return make_logits_room(b, m, tsri_task_batch_most_rows(&b->options));
    const size_t top = (size_t)tsri_task_batch_most_rows(&b->options) *
                       (size_t)tsri_task_member_kept(b, m, m->greedy ? 1 : m->top_k);
    TRY(tsri_base_grow(&b->top_logits, &b->top_logits_room, top, sizeof *b->top_logits));
    return tsri_base_grow(&b->top_ids, &b->top_ids_room, top, sizeof *b->top_ids);
}

tsr_status tsri_task_member_start(const tsri_task_member *m) {
    const tsri_task_decoding *d = m->decoding;
    tsri_task_sequence *s = m->sequence;
    if (m->scoring)
        TRY(tsri_task_score_token(m->scoring, d, s, 0, NULL));
    if (tsri_task_member_scores(m))
        return TSR_OK;
    TRY(tsri_task_member_end_full(m));
    if (s->finish)
        return TSR_OK;
    const bool last_forced = m->rules->forced_last >= 0 && tsri_task_left(d, s) == 1;
    if (m->rules->forced_first >= 0 && s->ids.count == 1 && !last_forced)
        return tsri_task_accept(d, s, m->rules->forced_first, 0, NULL);
    return TSR_OK;
}

tsr_status tsri_task_member_end_full(const tsri_task_member *m) {
    const tsri_task_decoding *d = m->decoding;
    if (tsri_task_left(d, m->sequence) == 0)
        return tsri_task_end(d, m->sequence, TSR_FINISH_LENGTH);
    if ((int64_t)m->sequence->ids.count >= d->context)
        return tsri_task_end(d, m->sequence, TSR_FINISH_CONTEXT);
    return TSR_OK;
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
        return isfinite(r->top_logits[at])
                   ? tsri_task_accept(d, s, r->top_ids[at], 0, NULL)
                   : tsri_task_bad_logits((int64_t)s->ids.count, r->top_logits[at]);
    TRY(tsri_task_sampler_use(b->sampler, d->options));
    TRY(bans_after(b, m, &bans));
    if (m->top_k)
        tsri_task_sampler_largest(b->sampler, m->top_k, r->top_ids + at, r->top_logits + at,
                                  r->top_lse[row], bans);
    else
        tsri_task_sampler_row(b->sampler, r->logits + row * (size_t)tsri_task_member_vocab(m),
                              s->seen, bans);
    TRY(tsri_task_sampler_draw(b->sampler, (int64_t)s->ids.count, &id, &logprob));
    return tsri_task_accept(d, s, id, logprob, tsri_task_sampler_candidates(b->sampler));
}

tsr_status tsri_task_batch_fail(tsri_task_batch *b, tsri_task_member *m, tsr_status status) {
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
        if (!tsri_task_member_goes_on(m))
            return TSR_OK;
        s->past++;
    }
}

tsr_status tsri_task_batch_give(tsri_task_batch *b) {
    size_t row = 0;
    if (!b->counts.first_ns)
        b->counts.first_ns = tsri_base_now_ns();
    for (uint32_t i = 0; i < b->n_rows; row += 1 + (size_t)b->drafted[i++]) {
        tsri_task_member *m = b->rows[i];
        if (!tsri_task_member_goes_on(m) ||
            tsri_task_member_unfed(
                m)) /* it ended while this run was under way; or more is to come */
            continue;
        const tsr_status status = give_member(b, i, row);
        if (status != TSR_OK)
            TRY(tsri_task_batch_fail(b, m, status));
    }
    return TSR_OK;
}
