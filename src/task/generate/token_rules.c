/* task/generate/token_rules.c - finds the tokens that may not follow a text: those that would
 * repeat an n-gram, those that would complete a bad word, and end tokens that come too early. */
#include "task/generate/token_rules.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void tsri_task_token_rules_clear(tsri_task_token_rules *rules) {
    free((void *)rules->is);
    free(rules->bad.ids);
    free(rules->bad.ends);
    *rules = (tsri_task_token_rules){0};
}

int64_t tsri_task_token_rules_ban(const tsri_task_token_rules *rules) {
    if (rules->no_repeat_ngram || rules->bad.n)
        return -1;
    return (int64_t)rules->never + rules->not_first +
           (rules->least > 0 || rules->least_length > 0 ? rules->ends : 0);
}

tsr_status tsri_task_bans_reserve(tsri_task_bans *bans, const tsri_task_token_rules *rules,
                                  size_t tokens) {
    bans->rules = rules;
    bans->mask = NULL;
    const size_t repeats = rules->no_repeat_ngram ? tokens : 0;
    return tsri_base_grow(&bans->ids, &bans->room, repeats + rules->bad.n, sizeof *bans->ids);
}

static void ban_repeats(int64_t size, const int32_t *ids, int64_t n, tsri_task_bans *out) {
    const int64_t first = out->rules->start_apart;
    if (!size || n - first < size)
        return;
    const int32_t *end = ids + n - (size - 1);
    for (int64_t i = first; i + size <= n; i++)
        if (memcmp(ids + i, end, (size_t)(size - 1) * sizeof *end) == 0)
            out->ids[out->n++] = ids[i + size - 1];
}

static void ban_words(const tsri_task_words *bad, const int32_t *ids, int64_t n,
                      tsri_task_bans *out) {
    size_t begin = 0;
    for (size_t i = 0; i < bad->n; begin = bad->ends[i++]) {
        const size_t before = bad->ends[i] - begin - 1;
        if (before <= (size_t)n &&
            memcmp(ids + n - before, bad->ids + begin, before * sizeof *ids) == 0)
            out->ids[out->n++] = bad->ids[bad->ends[i] - 1];
    }
}

void tsri_task_bans_set(tsri_task_bans *bans, const int32_t *ids, int64_t n, int64_t generated) {
    const tsri_task_token_rules *rules = bans->rules;
    const bool forced = rules->forced_first >= 0 && n - generated == 1;
    bans->n = 0;
    bans->flags = TSRI_TASK_NEVER | (generated == (forced ? 1 : 0) ? TSRI_TASK_NOT_FIRST : 0) |
                  (generated < rules->least || n < rules->least_length ? TSRI_TASK_END : 0);
    ban_repeats(rules->no_repeat_ngram, ids, n, bans);
    ban_words(&rules->bad, ids, n, bans);
}

static bool masked(const tsri_task_bans *bans, int32_t id) {
    if (bans->rules->is[id] & TSRI_TASK_END)
        return !bans->may_end;
    return id >= bans->known || !(bans->mask[id / 32] >> (id % 32) & 1);
}

uint32_t tsri_task_bans_allowed(const tsri_task_bans *bans, int32_t first) {
    if (!bans->mask)
        return UINT32_MAX;
    const int32_t rest = bans->rules->V - first, n = rest < 32 ? rest : 32;
    unsigned flags = 0;
    for (int32_t i = 0; i < n; i++)
        flags |= bans->rules->is[first + i];
    if (!(flags & TSRI_TASK_END) && first + n <= bans->known)
        return bans->mask[first / 32];
    uint32_t allowed = 0;
    for (int32_t i = 0; i < n; i++)
        allowed |= (uint32_t)!masked(bans, first + i) << i;
    return allowed;
}

bool tsri_task_bans_hit(const tsri_task_bans *bans, int32_t id) {
    if (bans->rules->is[id] & bans->flags || (bans->mask && masked(bans, id)))
        return true;
    for (size_t i = 0; i < bans->n; i++)
        if (bans->ids[i] == id)
            return true;
    return false;
}

int64_t tsri_task_bans_count(const tsri_task_bans *bans) {
    const tsri_task_token_rules *rules = bans->rules;
    return (int64_t)bans->n + rules->never +
           (bans->flags & TSRI_TASK_NOT_FIRST ? rules->not_first : 0) +
           (bans->flags & TSRI_TASK_END ? rules->ends : 0);
}
