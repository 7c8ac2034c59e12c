/* task/generate/token_rules.h - which tokens may follow a text. */
#ifndef TSRI_TASK_GENERATE_TOKEN_RULES_H
#define TSRI_TASK_GENERATE_TOKEN_RULES_H

#include "tessera/generate.h"

#include <stdbool.h>

/* What a token is, by its id. */
enum {
    TSRI_TASK_NEVER = 1,     /* suppressed */
    TSRI_TASK_NOT_FIRST = 2, /* suppressed as the first generated token that is not forced */
    TSRI_TASK_END = 4
};

/* Token sequences whose last token may not follow the others. */
typedef struct tsri_task_words {
    int32_t *ids;
    size_t *ends; /* [n] where each ends in ids; each has two tokens at least */
    size_t n;
} tsri_task_words;

/* What holds for all texts of a run; borrowed by every search. */
typedef struct tsri_task_token_rules {
    int32_t V, beams; /* beams >= 1; V >= 1 */
    tsr_early_stopping stopping;
    double length_penalty, coverage_penalty;
    double repetition_penalty; /* of log-probabilities (greedy: of logits) of tokens that the text
                                  has already; 1: none */
    int64_t no_repeat_ngram;   /* 0: any run of tokens may come again */
    bool renormalize;     /* of beams: a step's log-probabilities are those among what may come */
    int64_t least;        /* generated tokens before an end may come */
    int64_t least_length; /* tokens of a text, its prompt too, before an end may come */
    const unsigned char *is;        /* [V] of the flags above */
    int32_t ends, never, not_first; /* how many ids have each flag */
    tsri_task_words bad;
    int32_t forced_first; /* the first generated token, after a prompt of one; -1: any */
    int32_t forced_last;  /* what comes at the greatest length; -1: any */
} tsri_task_token_rules;

void tsri_task_token_rules_clear(tsri_task_token_rules *rules); /* frees is and bad */

/* How many ids may be banned after any text; -1: it depends on the text. */
int64_t tsri_task_token_rules_ban(const tsri_task_token_rules *rules);

/* What may not follow one text. */
typedef struct tsri_task_bans {
    const tsri_task_token_rules *rules;
    int32_t *ids; /* besides what the flags forbid; new memory */
    size_t n, room;
    unsigned flags;
} tsri_task_bans;

/* Makes room for bans after texts of so many tokens. */
tsr_status tsri_task_bans_reserve(tsri_task_bans *bans, const tsri_task_token_rules *rules,
                                  size_t tokens);
/* Those of a text of n tokens, the last `generated` of them generated. */
void tsri_task_bans_set(tsri_task_bans *bans, const int32_t *ids, int64_t n, int64_t generated);
bool tsri_task_bans_hit(const tsri_task_bans *bans, int32_t id);
/* How many ids they hit at most. */
int64_t tsri_task_bans_count(const tsri_task_bans *bans);

#endif
