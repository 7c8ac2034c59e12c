/* task/generate/beams.h - many texts through beam or greedy search, in the slots of one session:
 * a text that has ended leaves the batch, and the next one takes its place. */
#ifndef TSRI_TASK_GENERATE_BEAMS_H
#define TSRI_TASK_GENERATE_BEAMS_H

#include "model/session/session.h"
#include "task/generate/beam.h"

/* One text, the caller's until it was found. */
typedef struct tsri_task_text {
    const int32_t *source; /* [n_source] what the encoder reads; NULL: the model has none */
    int64_t n_source;
    const int32_t *prompt; /* [n_prompt] what the decoder begins with, at least one token */
    int64_t n_prompt;
    int64_t most; /* >= 1 generated tokens; n_prompt + most fit into the session's context */
} tsri_task_text;

typedef struct tsri_task_beams_options {
    const tsri_task_token_rules *rules; /* borrowed for the life of the search */
    int32_t texts;                      /* at once; >= 1 */
    int64_t context, source_context;    /* tokens of the longest; 0: what the model reads */
    bool scores; /* false: of greedy search the tokens alone are wanted, which reads less */
} tsri_task_beams_options;

typedef struct tsri_task_beams tsri_task_beams;

tsr_status tsri_task_beams_create(tsri_model *model, const tsri_task_beams_options *options,
                                  tsri_task_beams **out);
void tsri_task_beams_destroy(tsri_task_beams **search);

/* Where texts come from and go to. `next` sets *text to NULL where there is none (yet: it is asked
 * again whenever there is room); `found` takes what was found of a text, in the order in which
 * searches end. Any status but TSR_OK ends the run. */
typedef struct tsri_task_beams_ends {
    tsr_status (*next)(void *data, const tsri_task_text **text);
    tsr_status (*found)(void *data, const tsri_task_text *text, const tsri_task_beam *beam);
    void *data;
} tsri_task_beams_ends;

/* Until `next` has no more and all have ended. A step allocates nothing that an earlier one of its
 * shape did not. */
tsr_status tsri_task_beams_run(tsri_task_beams *search, const tsri_task_beams_ends *ends);

#endif
