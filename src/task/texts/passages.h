/* task/texts/passages.h - texts for an encoder: makes their ids, with the special tokens that the
 * tokenizer puts around them, cut to what the model reads; and runs many texts, those of similar
 * length together. */
#ifndef TSRI_TASK_TEXTS_PASSAGES_H
#define TSRI_TASK_TEXTS_PASSAGES_H

#include "model/session/session.h"
#include "tessera/tokenizer.h"

/* How texts become ids. Set by tsri_task_reader_begin. */
typedef struct tsri_task_reader {
    const tsri_text_tokenizer *tokenizer;
    int64_t max_tokens;    /* of a sequence, including special tokens */
    size_t before, around; /* special tokens before a text, and in all; for a pair: around_pair */
    size_t around_pair;
    unsigned flags;  /* of tsri_text_encode: whether special tokens are put around a text */
    bool segments;   /* the model distinguishes the two texts of a pair */
    bool lower_case; /* a text is put in lower case first */
    bool cut_left;   /* a text that is too long loses its beginning, not its end */
    /* The token that is left out at the end of a sequence, behind its first token; -1: none is */
    int32_t padding;
} tsri_task_reader;

/* TSR_E_STATE: the model has no tokenizer; `job` names the task in the message. */
tsr_status tsri_task_need_tokenizer(const tsri_model *model, const char *job);
/* TSR_E_ARGUMENT: texts of so many tokens were asked for, and the model does not read as many. */
tsr_status tsri_task_check_tokens(const tsri_model *model, int64_t asked, int64_t reads);

/* TSR_E_STATE: the model has no tokenizer or no device, or is not an encoder alone; `job` names the
 * task in the message. max_tokens 0: as many as the model reads and tokenizer_config.json allows or, where
 * the model is a table of vectors, the tokenizer.json beside it. */
tsr_status tsri_task_reader_begin(const tsri_model *model, const char *job, int64_t max_tokens,
                                  tsri_task_reader *out);

/* Tokens of a run: enough to fill a device, few enough to report progress. */
enum { TSRI_TASK_RUN_TOKENS = 8192 };

/* The ids of texts, one after the other. All zero: empty. */
typedef struct tsri_task_passages {
    tsri_text_ids ids, types;
    size_t *starts; /* [n + 1] */
    size_t n, room;
    uint64_t cut;          /* texts that were cut, because they were longer than the model reads */
    tsri_bytes text;       /* scratch: one text */
    tsri_text_ids part[2]; /* scratch: its ids and segments */
} tsri_task_passages;

/* Adds a text: `prefix` (may be "") and a; where b is not NULL, a pair with b. A text that is too
 * long loses its end, or its beginning (cut_left); in a pair, the longer one does. */
tsr_status tsri_task_passages_add(const tsri_task_reader *reader, tsri_task_passages *passages,
                                  const char *prefix, const tsr_string *a, const tsr_string *b);
/* A pair of texts as the tokenizer puts it together, in the passages' scratch: `begin_a` and `begin_b` are
 * where the na and nb tokens of each begin; whole: its template is not one that can be cut. */
typedef struct tsri_task_pair {
    size_t begin_a, na, begin_b, nb;
    bool whole;
} tsri_task_pair;
tsr_status tsri_task_passages_pair(const tsri_task_reader *reader, tsri_task_passages *passages,
                                   const tsr_string *a, const tsr_string *b, tsri_task_pair *out);
/* Adds that pair with the first `keep_a` tokens of a, and those of b from `first_b` on, keep_b of them.
 * TSR_E_UNSUPPORTED: less than the whole pair, which can't be cut. */
tsr_status tsri_task_passages_add_part(const tsri_task_reader *reader, tsri_task_passages *passages,
                                       const tsri_task_pair *pair, size_t keep_a, size_t first_b,
                                       size_t keep_b);
/* Ends a text whose ids were appended by hand. */
tsr_status tsri_task_passages_close(const tsri_task_reader *reader, tsri_task_passages *passages);
void tsri_task_passages_reset(tsri_task_passages *passages); /* keeps the memory */
void tsri_task_passages_clear(tsri_task_passages *passages);

/* A run of `n` of the texts: sequences[i] is text number which[i]. */
typedef tsr_status (*tsri_task_run_fn)(void *data, const tsri_model_sequence *sequences,
                                       const size_t *which, int32_t n);
/* Calls `run` with all texts that have tokens, some thousand tokens at once, the longest first;
 * after each, calls `tell` with the number of texts that are done, which may end the run. */
tsr_status tsri_task_passages_run(const tsri_task_passages *passages, tsri_task_run_fn run,
                                  tsr_status (*tell)(void *data, size_t done), void *data);

#endif
