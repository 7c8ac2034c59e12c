/* task/generate/beams.h - beam or greedy search of many texts, in the slots of one session: when a
 * text has ended, the next one takes its place in the batch. */
#ifndef TSRI_TASK_GENERATE_BEAMS_H
#define TSRI_TASK_GENERATE_BEAMS_H

#include "model/session/session.h"
#include "task/generate/beam.h"

/* One text, owned by the caller; it must stay until `found` was called for it. */
typedef struct tsri_task_text {
    const int32_t *source; /* [n_source] input of the encoder; NULL: the model has none */
    int64_t n_source;
    const int32_t *prompt; /* [n_prompt] first tokens of the decoder, at least one */
    int64_t n_prompt;
    int64_t most; /* >= 1 tokens to generate; n_prompt + most must fit into the session's context */
} tsri_task_text;

typedef struct tsri_task_beams_options {
    const tsri_task_token_rules *rules; /* borrowed for the life of the search */
    int32_t texts;                      /* searched at once; >= 1 */
    /* At least the tokens of the longest text; 0: the model's context. With longrope the context also
     * chooses the factors, so it must not depend on the texts */
    int64_t context, source_context;
    bool scores; /* false: greedy search gives only the tokens, and so reads less */
} tsri_task_beams_options;

typedef struct tsri_task_beams tsri_task_beams;

tsr_status tsri_task_beams_create(tsri_model *model, const tsri_task_beams_options *options,
                                  tsri_task_beams **out);
void tsri_task_beams_destroy(tsri_task_beams **search);

/* Where texts come from and go to. `next` sets *text to NULL where there is none now; it is called
 * again whenever there is room. `found` takes the result for a text, in the order in which searches
 * end. Any status but TSR_OK ends the run. */
typedef struct tsri_task_beams_ends {
    tsr_status (*next)(void *data, const tsri_task_text **text);
    tsr_status (*found)(void *data, const tsri_task_text *text, const tsri_task_beam *beam);
    void *data;
} tsri_task_beams_ends;

/* Runs until `next` has no more texts and all searches have ended. A step allocates nothing where
 * an earlier one had the same shape. */
tsr_status tsri_task_beams_run(tsri_task_beams *search, const tsri_task_beams_ends *ends);

#endif
