/* tessera/rank.h - how well texts answer a question, by a model that reads both together. */
#ifndef TESSERA_RANK_H
#define TESSERA_RANK_H

#include "tessera/classify.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_ranker tsr_ranker; /**< a model that ranks texts, ready to use */

typedef struct tsr_rank_options {
    uint32_t struct_size, reserved;
    int64_t max_tokens; /**< question and text are cut to so many tokens together; 0: what the model
                           reads, of a language model 8192 at most */
    /** What a language model is told to look for; NULL: what its makers say. */
    const char *instruction;
    /** Told how many of the call's texts are done, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** As tsr_classify_options has them: a prompt before the question. To a language model that reads an instruction,
     * the prompt is that. */
    const char *prompt, *prompt_text;
} tsr_rank_options;

/**
 * Prepares a model that ranks texts. It is one of these:
 *
 * - a cross-encoder: a classifier with one label (or, of a decoder, ...ForSequenceClassification);
 * - a language model that is asked whether a text answers the question, in the words that
 *   Qwen3-Reranker and bge-reranker-v2-gemma have learned (families qwen3 and gemma). Its score is
 *   the probability of "yes", of "yes" and "no" alone.
 *
 * A classifier of family qwen3 or gemma reads the same words. It has one label, or two that are named
 * as the answers: so GGUF files have Qwen3-Reranker.
 *
 * options may be NULL; instruction and prompt_text are borrowed for the ranker's life
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE        the model is neither of these, has no tokenizer, or was opened without a
 *                            device
 *         TSR_E_ARGUMENT     max_tokens is above what the model reads; there is an instruction, and
 *                            the model reads none; there is a prompt, and the model is a language model
 *                            that reads none; prompts as in tsr_classifier_create
 *         TSR_E_UNSUPPORTED  the model's folder puts pairs into the tokenizer's chat template
 */
TSR_API tsr_status tsr_ranker_create(tsr_model *model, const tsr_rank_options *options,
                                     tsr_ranker **out);
/** Destroys it. *ranker may be NULL, and is NULL afterwards. */
TSR_API void tsr_ranker_destroy(tsr_ranker **ranker);

/**
 * Gives the score of each of n texts.
 *
 * stats    may be NULL
 * shape    scores: [n]
 * range    0 to 1: a probability. The number of a regression goes through a sigmoid
 * thread   one call at a time for a model
 * error    as tsr_classify
 */
TSR_API tsr_status tsr_rank(tsr_ranker *ranker, tsr_string question, const tsr_string *texts,
                            size_t n, float *scores, tsr_classify_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
