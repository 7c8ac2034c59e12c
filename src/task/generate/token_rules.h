/* task/generate/token_rules.h - rules that say which tokens may follow a text. */
#ifndef TSRI_TASK_GENERATE_TOKEN_RULES_H
#define TSRI_TASK_GENERATE_TOKEN_RULES_H

#include "tessera/generate.h"

#include <stdbool.h>

/* Flags of a token, by its id. */
enum {
    TSRI_TASK_NEVER = 1,     /* suppressed */
    TSRI_TASK_NOT_FIRST = 2, /* suppressed as the first generated token that is not forced */
    TSRI_TASK_END = 4
};

/* Token sequences whose last token may not follow the others. */
typedef struct tsri_task_words {
    int32_t *ids;
    size_t *ends; /* [n] where each ends in ids; each has at least two tokens */
    size_t n;
} tsri_task_words;

/* The rules for all texts of a run; every search borrows them. */
typedef struct tsri_task_token_rules {
    int32_t V, beams; /* beams >= 1; V >= 1 */
    tsr_early_stopping stopping;
    double length_penalty, coverage_penalty;
    double repetition_penalty; /* on log-probabilities (in greedy search, on logits) of tokens that
                                  occur in the text; 1: none */
    int64_t no_repeat_ngram;   /* no n-gram of this length may occur twice; 0: any may */
    bool renormalize; /* in scores, log-probabilities are normalised over the allowed tokens */
    /* With several beams, too, the penalty changes logits, from which probabilities are made then;
     * only with renormalize. */
    bool penalise_logits;
    /* A text's first token, with which its decoder starts, is neither penalised nor in an n-gram. */
    bool start_apart;
    int64_t counted;         /* tokens of a prompt that count in a score's length */
    int64_t least;           /* generated tokens before an end token is allowed */
    int64_t least_length;    /* tokens of a text, with its prompt, before an end token is allowed */
    const unsigned char *is; /* [V] flags, as above */
    int32_t ends, never, not_first; /* how many ids have each flag */
    tsri_task_words bad;
    int32_t forced_first; /* the first generated token, after a prompt of one token; -1: any */
    int32_t forced_last;  /* the token at the greatest length; -1: any */
} tsri_task_token_rules;

void tsri_task_token_rules_clear(tsri_task_token_rules *rules); /* frees is and bad */

/* The most ids that may be banned after a text; -1: it depends on the text. */
int64_t tsri_task_token_rules_ban(const tsri_task_token_rules *rules);

/* The tokens that may not follow one text. */
typedef struct tsri_task_bans {
    const tsri_task_token_rules *rules;
    int32_t *ids; /* besides those that the flags forbid; new memory */
    size_t n, room;
    unsigned flags;
    /* Not NULL: of the first `known` ids only those with a bit are allowed, and none beyond; end tokens
     * where `may_end` is set. The caller sets it after tsri_task_bans_reserve. */
    const uint32_t *mask;
    int32_t known;
    bool may_end;
} tsri_task_bans;

/* Makes room for the bans after a text of `tokens` tokens. */
tsr_status tsri_task_bans_reserve(tsri_task_bans *bans, const tsri_task_token_rules *rules,
                                  size_t tokens);
/* Sets the bans after a text of n tokens, of which the last `generated` are generated. */
void tsri_task_bans_set(tsri_task_bans *bans, const int32_t *ids, int64_t n, int64_t generated);
bool tsri_task_bans_hit(const tsri_task_bans *bans, int32_t id);
/* Which of 32 tokens the mask allows, where there is one: bit i is that of id first + i below V. first: a multiple
 * of 32 below V. */
uint32_t tsri_task_bans_allowed(const tsri_task_bans *bans, int32_t first);
/* The most ids that they ban. */
int64_t tsri_task_bans_count(const tsri_task_bans *bans);

#endif
