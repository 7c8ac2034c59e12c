/* task/generate/decode.h - the loop of autoregressive decoding: sequences in a session, a token
 * a step each, until every one has ended. */
#ifndef TSRI_TASK_GENERATE_DECODE_H
#define TSRI_TASK_GENERATE_DECODE_H

#include "model/session/session.h"
#include "task/generate/sampler.h"
#include "task/generate/token_rules.h"

/* One sequence. `ids` holds the prompt when decoding starts, and grows by what is generated; the
 * first `past` of them are in the slot. */
typedef struct tsri_task_sequence {
    tsri_text_ids ids;
    int64_t past;
    int32_t slot;
    int32_t source;           /* of an encoder-decoder: the source slot */
    uint32_t prompt;          /* the number that callbacks are given */
    uint32_t hypothesis;      /* likewise, after a beam search */
    float score;              /* likewise, with the finish */
    tsri_text_stream *stream; /* NULL: no text */
    tsri_bytes held;          /* text that may be the beginning of a stop text */
    size_t given;             /* bytes of held that were given already */
    unsigned char *seen;      /* [V] for the repetition penalty; NULL where it is off */
    int64_t generated;
    tsr_finish finish;
} tsri_task_sequence;

typedef struct tsri_task_decoding {
    tsri_model *model;
    tsri_session *session;
    const tsr_generate_options *options;
    int64_t context; /* tokens of a sequence at most */
    tsr_generated_fn generated;
    void *data;
    tsr_generate_stats *stats; /* may be NULL */
    const int32_t *ends;       /* end tokens besides the model's own */
    uint32_t n_ends;
} tsri_task_decoding;

/* The defaults of tsr_generate_defaults; and these where a caller gives NULL. */
tsr_status tsri_task_defaults(const tsri_model *model, tsr_generate_options *out);
tsr_status tsri_task_adopt_search(const tsri_model *model, const tsr_generate_options *given,
                                  tsr_generate_options *out);

/* Every option within its range. */
tsr_status tsri_task_options_check(const tsr_generate_options *options, const tsri_model *model);

/* Feeds what is not yet in the slots, then decodes until each sequence has finished. */
tsr_status tsri_task_decode(const tsri_task_decoding *decoding, tsri_task_sequence *sequences,
                            uint32_t n);

/* The same by beam search: the callback gets each hypothesis whole, one after the other. sources:
 * [n] what the encoder reads; not read where the model has none. */
tsr_status tsri_task_decode_beams(const tsri_task_decoding *decoding, tsri_task_sequence *sequences,
                                  const tsri_text_ids *sources, uint32_t n);

/* Tokens that may follow a prompt of so many, by the options alone; -1: any number. */
int64_t tsri_task_most_new(const tsr_generate_options *options, int64_t prompt);

/* Adds a token to a sequence, whose finish it may be, and tells the callback. */
tsr_status tsri_task_accept(const tsri_task_decoding *decoding, tsri_task_sequence *sequence,
                            int32_t id, float logprob, const tsr_candidate *candidates);
/* Tells the callback of a sequence that ends without another token. */
tsr_status tsri_task_end(const tsri_task_decoding *decoding, tsri_task_sequence *sequence,
                         tsr_finish finish);

/* Readies a sequence whose ids are set: text so far goes through the stream, tokens so far are
 * marked as seen. */
tsr_status tsri_task_sequence_begin(tsri_task_sequence *sequence, const tsri_model *model,
                                    const tsr_generate_options *options);
void tsri_task_sequence_clear(tsri_task_sequence *sequence);

#endif
