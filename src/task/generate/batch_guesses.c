/* task/generate/batch_guesses.c - which tokens a step guesses, and whether guesses have gained time. */
#include "task/generate/batch_parts.h"

#include "base/clock.h"
#include "base/error.h"

enum { FIRST_HITS = 8 }; /* guesses of a text that must have been right before one is computed */

/* How many tokens may be guessed for a member: no more than it may get, and not so many that its memory
 * must grow for them. */
static int64_t most_drafts(const tsri_task_batch *b, const tsri_task_member *m, bool gains) {
    const tsri_task_decoding *d = m->decoding;
    const int64_t tokens = (int64_t)m->sequence->ids.count, left = tsri_task_left(d, m->sequence),
                  asked = d->options->speculate,
                  own = asked   ? asked
                        : gains ? TSRI_SESSION_FEW_ROWS - 1
                                : 0,
                  room = tsri_task_smaller(d->context - 1, tsri_session_capacity(b->session)),
                  most = tsri_task_smaller(tsri_task_smaller(own, room - tokens),
                                           left < 0 ? own : left - 1);
    return most > 0 && !tsri_task_member_fits(b, m, tokens + most) ? 0 : most;
}

/* Whether there is a guess, and enough of them were right already: guesses want kernels of their own, which
 * may have to be built. */
static bool worth(const tsri_task_lookup *lookup) {
    return lookup->next && lookup->hits >= FIRST_HITS;
}

tsr_status tsri_task_batch_guess(tsri_task_batch *b, bool *any) {
    uint32_t n = 0;
    bool can, gains, asked = false;
    *any = false;
    for (uint32_t i = 0; i < b->n; i++)
        n += tsri_task_member_decodes(b->members[i]);
    if (!n || 2 * n > TSRI_SESSION_FEW_ROWS)
        return TSR_OK;
    TRY(tsri_session_can_draft(b->session, &can, &gains));
    n = 0;
    for (uint32_t i = 0; i < b->n && can; i++) {
        const tsri_task_member *m = b->members[i];
        tsri_task_lookup *lookup = &m->sequence->lookup;
        if (!tsri_task_member_decodes(m))
            continue;
        const int64_t most = most_drafts(b, m, gains);
        asked |= m->decoding->options->speculate > 0;
        if (most > 0)
            tsri_task_lookup_update(lookup, m->sequence->ids.data, (int64_t)m->sequence->ids.count);
        b->drafts[n++] =
            (tsri_task_draft){.lookup = lookup, .most = most > 0 && worth(lookup) ? most : 0};
    }
    tsri_task_drafts_choose(b->drafts, n, TSRI_SESSION_FEW_ROWS, asked ? NULL : &b->pace);
    for (uint32_t i = 0; i < n; i++)
        *any |= b->drafts[i].n > 0;
    return TSR_OK;
}

void tsri_task_batch_pace(tsri_task_batch *batch, uint64_t begun) {
    int64_t longest = 0;
    for (uint32_t i = 0; i < batch->n_rows; i++)
        longest = batch->drafted[i] > longest ? batch->drafted[i] : longest;
    if (batch->n_rows)
        tsri_task_pace_add(&batch->pace, batch->n_rows, longest ? batch->n_rows * (longest + 1) : 0,
                           tsri_base_now_ns() - begun);
    tsri_task_batch_note_answers(batch, begun);
}
