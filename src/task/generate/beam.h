/* task/generate/beam.h - beam search over one text, without a model: what may follow each beam
 * comes in, the beams that go on come out.
 *
 *     score = sum of log-probabilities / length^A + B sum_s log(min(coverage_s, 1))
 *
 * length counts the generated tokens, an end token too, and not the prompt; coverage_s is how much
 * attention all steps together gave to source token s. A step looks at the best 2K continuations
 * of all beams ((1 + E)K with E > 1 end tokens): an end among the first K of them is a finished
 * hypothesis, of which the best K by score are kept; the first K others go on. At the greatest
 * length every one of the first K is finished.
 *
 * With one beam the search is greedy: the likeliest token always, to the first end.
 *
 * source  Wu et al. 2016, arXiv:1609.08144 (both penalties); the order of events is that of
 *         transformers' generate, whose results the goldens hold */
#ifndef TSRI_TASK_GENERATE_BEAM_H
#define TSRI_TASK_GENERATE_BEAM_H

#include "task/generate/token_rules.h"

typedef struct tsri_task_hypothesis {
    int32_t *ids;    /* [n] the prompt and what was generated */
    int32_t *keys;   /* [n - 1] of a live one: the slot that holds the key of each but the last */
    float *coverage; /* [S] */
    int64_t n;
    double sum; /* of log-probabilities, after the repetition penalty */
    double score;
} tsri_task_hypothesis;

/* What the model gives for one live beam. */
typedef struct tsri_task_row {
    const float *logits; /* [V]; or, with ids, [n] largest first */
    const int32_t *ids;  /* [n]; NULL: logits is the whole row. With logits NULL, the likeliest
                            token alone, for greedy search without scores */
    int32_t n;
    float lse; /* log of the sum of exponentials over the whole row; not read with it */
    const float *attention; /* [S] of this step, where there is a coverage penalty */
} tsri_task_row;

typedef struct tsri_task_beam tsri_task_beam;

/* A search whose beams append to the slots from `slot` on. */
tsr_status tsri_task_beam_create(const tsri_task_token_rules *rules, int32_t slot,
                                 tsri_task_beam **out);
void tsri_task_beam_destroy(tsri_task_beam **beam);

/* Begins a text: `prompt` (n >= 1 tokens, the start token of a decoder among them), at most `most`
 * (>= 1) generated tokens, S source tokens (read for the coverage penalty alone). */
tsr_status tsri_task_beam_begin(tsri_task_beam *beam, const int32_t *prompt, int64_t n,
                                int64_t most, int64_t S);

/* How many beams want a row now; 0: the search has ended. */
int32_t tsri_task_beam_live(const tsri_task_beam *beam);
/* The i-th of them. Until the next step. */
const tsri_task_hypothesis *tsri_task_beam_at(const tsri_task_beam *beam, int32_t i);
/* How many of the likeliest tokens a row must hold, at most V; 0: whole rows. */
int32_t tsri_task_beam_wanted(const tsri_task_beam *beam);

/* Takes a row for each live beam. After the first texts of a length it allocates nothing.
 * error  TSR_E_DEVICE  logits that are not numbers */
tsr_status tsri_task_beam_step(tsri_task_beam *beam, const tsri_task_row *rows);

/* Finished hypotheses, best first, at most K: with few continuations (a small vocabulary, many
 * bans) there may be fewer, even none. Until the next begin. */
int32_t tsri_task_beam_finished(const tsri_task_beam *beam);
const tsri_task_hypothesis *tsri_task_beam_best(const tsri_task_beam *beam, int32_t i);

#endif
