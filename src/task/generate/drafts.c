/* task/generate/drafts.c - weighs the tokens that a step may gain against the time of its rows. */
#include "task/generate/drafts.h"

/* The time of a step of so many rows, of 8 for a single one. Weights are read once for all rows, so
 * another row costs little: on CPUs 8 rows take 1.1 (q8) to 1.8 times (f16) as long as one. A run of
 * several rows for a sequence has other kernels, which take more time for two rows than for one. */
static uint64_t time_of(int64_t rows, bool drafts) {
    return (uint64_t)(8 + (rows - 1) + drafts);
}

/* Guesses are worth it from this share of the time on that a step without them takes for a token. */
enum { GAIN = 17, OF = 16 };
/* The first guesses build a plan, as the first steps did. They are worth it when those that were right, uncomputed,
 * would have saved so many times its time. */
enum { SAVED = 2 };
/* Guesses that lost time are tried again after so many steps: a single one may have been slow by chance. */
enum { RETRY = 128 };

/* ---- measured time ---- */

/* The first steps build kernels and touch memory: the shortest counts. Then the mean follows an eighth of
 * the way. */
enum { FIRST_STEPS = 8 };

static uint64_t follow(uint64_t mean, uint64_t value, uint64_t part) {
    return value > mean ? mean + (value - mean) / part : mean - (mean - value) / part;
}

static void count_plain(tsri_task_pace *p, uint64_t ns) {
    const uint64_t most = 2 * p->plain_ns;
    if (p->plain_steps++ < FIRST_STEPS) {
        p->plain_ns = p->plain_ns && p->plain_ns < ns ? p->plain_ns : ns;
        p->first_ns = p->first_ns > ns ? p->first_ns : ns;
    } else
        p->plain_ns = follow(p->plain_ns, ns < most ? ns : most, 8);
}

/* One step counts as twice the cost known so far at most: where memory grows, plans are built anew. */
static void count_guessed(tsri_task_pace *p) {
    const uint64_t known = p->cost > TSRI_TASK_DRAFTS_ONE ? p->cost : TSRI_TASK_DRAFTS_ONE,
                   reckoned = p->plain_ns * time_of(p->guessed_rows, true) /
                              time_of((int64_t)p->sequences, false);
    if (p->guessed_ns && reckoned) {
        const uint64_t cost = p->guessed_ns * TSRI_TASK_DRAFTS_ONE / reckoned,
                       most = cost < 2 * known ? cost : 2 * known;
        p->cost = (uint32_t)(p->cost ? follow(p->cost, most, 4) : most) | 1; /* known: not 0 */
    }
    p->guessed_ns = 0;
}

void tsri_task_pace_add(tsri_task_pace *pace, uint32_t sequences, int64_t rows, uint64_t ns) {
    if (pace->sequences != sequences)
        *pace =
            (tsri_task_pace){.sequences = sequences, .met = pace->met, .first_ns = pace->first_ns};
    /* The first step behind guesses was not started ahead: what it takes longer is a cost of theirs. */
    if (!rows && pace->guessed_ns && ns > pace->plain_ns)
        pace->guessed_ns += ns - pace->plain_ns;
    count_guessed(pace);
    if (!rows && !pace->behind)
        count_plain(pace, ns);
    pace->behind = rows > 0;
    if (!rows)
        return;
    if (pace->met >> rows & 1) {
        pace->guessed_ns = ns;
        pace->guessed_rows = rows;
    }
    pace->met |= 1u << rows;
}

/* ---- the choice ---- */

/* The tokens that n guesses gain, of TSRI_TASK_LOOKUP_ONE each. */
static uint64_t gain_of(const tsri_task_draft *draft, int64_t n) {
    uint64_t all = 0, chance = TSRI_TASK_LOOKUP_ONE;
    for (int64_t i = 0; i < n && i < draft->most; i++) {
        chance = chance * tsri_task_lookup_chance(draft->lookup, i) / TSRI_TASK_LOOKUP_ONE;
        all += chance;
    }
    return all;
}

/* How many guesses each sequence gets where rows of a step with guesses take `cost` of the time reckoned. */
static int64_t choose(const tsri_task_draft *drafts, uint32_t count, int64_t rows, uint64_t cost) {
    const uint64_t known = (uint64_t)count * TSRI_TASK_LOOKUP_ONE;
    uint64_t best = known * GAIN / OF, best_time = time_of(count, false) * TSRI_TASK_DRAFTS_ONE;
    int64_t chosen = 0;
    for (int64_t n = 1; count && count * (n + 1) <= rows; n++) {
        uint64_t tokens = known;
        for (uint32_t i = 0; i < count; i++)
            tokens += gain_of(&drafts[i], n);
        const uint64_t time = time_of(count * (n + 1), true) * cost;
        if (tokens * best_time <= best * time)
            continue;
        best = tokens;
        best_time = time;
        chosen = n;
    }
    return chosen;
}

static bool pays_for_a_plan(const tsri_task_pace *pace, const tsri_task_draft *drafts,
                            uint32_t count) {
    /* Later steps may take longer than the first ones: for a longer context, or on a busy machine. */
    const uint64_t plan = pace->first_ns > pace->plain_ns ? pace->first_ns - pace->plain_ns : 0;
    uint64_t hits = 0;
    for (uint32_t i = 0; i < count; i++)
        hits += drafts[i].lookup->hits;
    return pace->met || hits * pace->plain_ns >= SAVED * plan;
}

void tsri_task_drafts_choose(tsri_task_draft *drafts, uint32_t count, int64_t rows,
                             tsri_task_pace *pace) {
    int64_t chosen = choose(drafts, count, rows, TSRI_TASK_DRAFTS_ONE);
    if (pace && pace->cost && pace->sequences == count) {
        const int64_t measured = choose(drafts, count, rows, pace->cost);
        if (measured || !chosen || ++pace->declined < RETRY)
            chosen = measured;
    }
    if (pace && chosen && !pays_for_a_plan(pace, drafts, count))
        chosen = 0;
    if (pace && chosen)
        pace->declined = 0;
    for (uint32_t i = 0; i < count; i++)
        drafts[i].n = chosen < drafts[i].most ? chosen : drafts[i].most;
}
