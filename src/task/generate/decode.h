/* task/generate/decode.h - autoregressive decoding: what a sequence makes of each token, until it
 * ends. The steps are in task/generate/batch.h. */
#ifndef TSRI_TASK_GENERATE_DECODE_H
#define TSRI_TASK_GENERATE_DECODE_H

#include "model/session/session.h"
#include "task/generate/lookup.h"
#include "task/generate/pages.h"
#include "task/generate/sampler.h"
#include "task/generate/token_rules.h"

/* One sequence. When decoding starts, `ids` has the prompt; generated tokens are appended. The
 * first `past` of them are in the slot. */
typedef struct tsri_task_sequence {
    tsri_text_ids ids;
    int64_t past;
    int32_t slot;
    tsri_task_page_list *pages; /* of a session with pages; else NULL */
    int32_t source;             /* of an encoder-decoder: the source slot */
    uint32_t prompt;            /* number of the prompt, for callbacks */
    uint32_t hypothesis;        /* its number after a beam search, for callbacks */
    float score;                /* its score, for the last callback */
    tsri_text_stream *stream;   /* NULL: no text */
    tsri_bytes held;            /* text that may be the beginning of a stop text */
    size_t given;               /* how many bytes of `held` were given already */
    tsri_task_seen *seen;       /* [V]; NULL where the options change no logit */
    tsri_text_matcher *matcher; /* of the grammar that the new tokens follow; NULL: none */
    tsri_task_lookup lookup;    /* how the text may go on */
    int64_t generated;
    tsr_finish finish;
} tsri_task_sequence;

typedef struct tsri_task_decoding {
    tsri_model *model;
    tsri_session *session;
    const tsr_generate_options *options;
    int64_t context; /* the most tokens of a sequence */
    tsr_generated_fn generated;
    void *data;
    tsr_generate_stats *stats; /* may be NULL */
    const int32_t *ends;       /* end tokens besides the model's own */
    uint32_t n_ends;
} tsri_task_decoding;

/* The defaults of tsr_generate_defaults, which also apply where a caller gives NULL. */
tsr_status tsri_task_defaults(const tsri_model *model, tsr_generate_options *out);
tsr_status tsri_task_adopt_search(const tsri_model *model, const tsr_generate_options *given,
                                  tsr_generate_options *out);

/* Checks that every option is within its range. */
tsr_status tsri_task_options_check(const tsr_generate_options *options, const tsri_model *model);

/* Options with copies of what they point to, but for `chat`, which is NULL. */
typedef struct tsri_task_own_options {
    tsr_generate_options options;
    char **stop;
    int32_t *suppress;
    tsr_logit_bias *logit_bias;
    char *grammar, *json_schema;
} tsri_task_own_options;

/* The caller clears *to, after a failure, too. */
tsr_status tsri_task_own_options_copy(const tsr_generate_options *from, tsri_task_own_options *to);
void tsri_task_own_options_clear(tsri_task_own_options *own);

/* Checks that tokenizer and vocabulary belong together. */
tsr_status tsri_task_check_vocabulary(const tsri_text_ids *ids, int32_t vocab);

/* Feeds the tokens that are not yet in the slots, then decodes until each sequence has finished. */
tsr_status tsri_task_decode(const tsri_task_decoding *decoding, tsri_task_sequence *sequences,
                            uint32_t n);

/* The same by beam search: the callback gets one complete hypothesis after the other. sources: [n]
 * input of the encoder; not read where the model has none. */
tsr_status tsri_task_decode_beams(const tsri_task_decoding *decoding, tsri_task_sequence *sequences,
                                  const tsri_text_ids *sources, uint32_t n);

/* How many tokens the options allow after a prompt of `prompt` tokens; -1: any number. */
int64_t tsri_task_most_new(const tsr_generate_options *options, int64_t prompt);
/* How many more tokens the options allow a sequence; -1: any number. */
int64_t tsri_task_left(const tsri_task_decoding *decoding, const tsri_task_sequence *sequence);

/* Adds a token to a sequence, which may finish it, and tells the callback. */
tsr_status tsri_task_accept(const tsri_task_decoding *decoding, tsri_task_sequence *sequence,
                            int32_t id, float logprob, const tsr_candidate *candidates);
/* Tells the callback that a sequence ends without another token. */
tsr_status tsri_task_end(const tsri_task_decoding *decoding, tsri_task_sequence *sequence,
                         tsr_finish finish);

/* Prepares a sequence whose ids are set: passes them through the stream, and marks them as seen. */
tsr_status tsri_task_sequence_begin(tsri_task_sequence *sequence, const tsri_model *model,
                                    const tsr_generate_options *options);
void tsri_task_sequence_clear(tsri_task_sequence *sequence);

#endif
