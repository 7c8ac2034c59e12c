/* task/generate/beam.h - beam search over one text, without a model: the caller gives the logits of
 * each beam's next token, and gets the beams that are continued.
 *
 *     score = sum of log-probabilities / length^A + B sum_s log(min(coverage_s, 1))
 *
 * length counts the generated tokens, including an end token, but not the prompt; coverage_s is the
 * attention that all steps together gave to source token s. A step looks at the best 2K
 * continuations of all beams ((1 + E)K with E > 1 end tokens). An end token among the first K of
 * them finishes a hypothesis, of which the best K by score are kept; the first K other
 * continuations become the next beams. At the greatest length, all of the first K are finished.
 *
 * With one beam the search is greedy: it takes the likeliest token until the first end token.
 *
 * source  Wu et al. 2016, arXiv:1609.08144 (both penalties); the order of operations is that of
 *         transformers' generate, whose results are the goldens */
#ifndef TSRI_TASK_GENERATE_BEAM_H
#define TSRI_TASK_GENERATE_BEAM_H

#include "task/generate/token_rules.h"

typedef struct tsri_task_hypothesis {
    int32_t *ids;    /* [n] the prompt and what was generated */
    int32_t *keys;   /* [n - 1] of a live beam: the slot with the key of each token but the last */
    float *coverage; /* [S] */
    int64_t n;
    double sum; /* of log-probabilities; with several beams after the repetition penalty */
    double score;
} tsri_task_hypothesis;

/* The model's output for one live beam. */
typedef struct tsri_task_row {
    const float *logits; /* [V]; or, with ids, [n], the largest first */
    const int32_t *ids;  /* [n]; NULL: logits has the whole row. Where logits is NULL: what the op
                            argmax gives, for greedy search without scores */
    int32_t n;
    float lse; /* log of the sum of exponentials over the whole row; not read where logits has it */
    const float *attention; /* [S] of this step; only read with a coverage penalty */
} tsri_task_row;

typedef struct tsri_task_beam tsri_task_beam;

/* Makes a search; its beams use the slots from `slot` on. */
tsr_status tsri_task_beam_create(const tsri_task_token_rules *rules, int32_t slot,
                                 tsri_task_beam **out);
void tsri_task_beam_destroy(tsri_task_beam **beam);

/* Begins a text: `prompt` has n >= 1 tokens, including a decoder's start token; at most `most` >= 1
 * tokens are generated; S is the number of source tokens, only read with a coverage penalty. */
tsr_status tsri_task_beam_begin(tsri_task_beam *beam, const int32_t *prompt, int64_t n,
                                int64_t most, int64_t S);

/* How many beams need a row now; 0: the search has ended. */
int32_t tsri_task_beam_live(const tsri_task_beam *beam);
/* The i-th of them; valid until the next step. */
const tsri_task_hypothesis *tsri_task_beam_at(const tsri_task_beam *beam, int32_t i);
/* How many of the likeliest tokens a row must have, at most V; 0: whole rows. */
int32_t tsri_task_beam_wanted(const tsri_task_beam *beam);

/* Takes a row for each live beam. Once a text of this length has been searched, it allocates
 * nothing.
 * error  TSR_E_DEVICE  logits are not finite */
tsr_status tsri_task_beam_step(tsri_task_beam *beam, const tsri_task_row *rows);

/* The number of finished hypotheses, best first: at most K, and fewer or even none where few
 * continuations are allowed (a small vocabulary, many bans). Valid until the next begin. */
int32_t tsri_task_beam_finished(const tsri_task_beam *beam);
const tsri_task_hypothesis *tsri_task_beam_best(const tsri_task_beam *beam, int32_t i);

#endif
