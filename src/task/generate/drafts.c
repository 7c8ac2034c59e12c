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

/* The tokens that n guesses gain, of TSRI_TASK_LOOKUP_ONE each. */
static uint64_t gain_of(const tsri_task_draft *draft, int64_t n) {
    uint64_t all = 0, chance = TSRI_TASK_LOOKUP_ONE;
    for (int64_t i = 0; i < n && i < draft->most; i++) {
        chance = chance * tsri_task_lookup_chance(draft->lookup, i) / TSRI_TASK_LOOKUP_ONE;
        all += chance;
    }
    return all;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void tsri_task_drafts_choose(tsri_task_draft *drafts, uint32_t count, int64_t rows) {
    const uint64_t known = (uint64_t)count * TSRI_TASK_LOOKUP_ONE;
    uint64_t best = known * GAIN / OF, best_time = time_of(count, false);
    int64_t chosen = 0;
    for (int64_t n = 1; count && count * (n + 1) <= rows; n++) {
        uint64_t tokens = known;
        for (uint32_t i = 0; i < count; i++)
            tokens += gain_of(&drafts[i], n);
        const uint64_t time = time_of(count * (n + 1), true);
        if (tokens * best_time <= best * time)
            continue;
        best = tokens;
        best_time = time;
        chosen = n;
    }
    for (uint32_t i = 0; i < count; i++)
        drafts[i].n = smaller(chosen, drafts[i].most);
}
