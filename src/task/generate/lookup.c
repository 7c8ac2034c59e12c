/* task/generate/lookup.c - finds where the last tokens of a text stood before. */
#include "task/generate/lookup.h"

enum {
    FEWEST = 2,  /* tokens that must be alike */
    ENOUGH = 16, /* more of them say nothing more */
    FORGET = 64  /* of so many tries, half the weight of the older ones is dropped */
};

/* What is taken as known before a text is looked at, so many right of TRIES; the more tokens are alike,
 * the likelier is the next one. */
enum { TRIES = 8 };
static const uint16_t first_right[TSRI_TASK_LOOKUP_KINDS] = {2, 3, 4, 6, 7};

/* 2, 3, 4 to 5, 6 to 9, more */
static int kind_of(int64_t alike) {
    return alike <= 2 ? 0 : alike == 3 ? 1 : alike <= 5 ? 2 : alike <= 9 ? 3 : 4;
}

static void count(tsri_task_lookup *l, bool right) {
    const int kind = kind_of(l->alike);
    if (l->tried[kind] == FORGET) {
        l->tried[kind] /= 2;
        l->right[kind] /= 2;
    }
    l->tried[kind]++;
    l->hits += right;
    l->right[kind] = (uint16_t)(l->right[kind] + right);
}

/* How many tokens before `at` and before `n` are alike, ENOUGH at most. */
static int64_t alike_before(const int32_t *ids, int64_t at, int64_t n) {
    int64_t alike = 0;
    while (alike < ENOUGH && alike < at && ids[at - 1 - alike] == ids[n - 1 - alike])
        alike++;
    return alike;
}

/* The place before which the most tokens are alike; of equal ones, the last. */
static void find(tsri_task_lookup *l, const int32_t *ids, int64_t n) {
    l->next = l->alike = 0;
    for (int64_t at = n - 1; at >= FEWEST && l->alike < ENOUGH; at--) {
        if (ids[at - 1] != ids[n - 1])
            continue;
        const int64_t alike = alike_before(ids, at, n);
        if (alike < FEWEST || alike <= l->alike)
            continue;
        l->next = at;
        l->alike = alike;
    }
}

void tsri_task_lookup_update(tsri_task_lookup *l, const int32_t *ids, int64_t n) {
    const bool new = l->seen < n;
    for (; l->next && l->seen < n; l->seen++) {
        const bool right = ids[l->next] == ids[l->seen];
        count(l, right);
        l->next = right ? l->next + 1 : 0;
        l->alike++;
    }
    l->seen = n;
    if (new && !l->next)
        find(l, ids, n);
}

int32_t tsri_task_lookup_token(const tsri_task_lookup *l, const int32_t *ids, int64_t ahead) {
    /* Behind the end of the text stand the expected tokens themselves. */
    return ids[l->next + ahead % (l->seen - l->next)];
}

uint32_t tsri_task_lookup_chance(const tsri_task_lookup *l, int64_t ahead) {
    const int kind = kind_of(l->alike + ahead);
    return (uint32_t)(TSRI_TASK_LOOKUP_ONE * (first_right[kind] + l->right[kind]) /
                      (TRIES + l->tried[kind]));
}
