/* tessera/answer.h - answers to questions, which are parts of given texts (extractive question
 * answering). */
#ifndef TESSERA_ANSWER_H
#define TESSERA_ANSWER_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_answerer
    tsr_answerer; /**< a model of class ...ForQuestionAnswering, ready to use */

typedef struct tsr_answerer_options {
    uint32_t struct_size;
    uint32_t
        no_answer;    /**< 1: "the text has no answer" is an answer, too, with a score of its own */
    uint32_t top_k;   /**< at most so many answers to a question; 0: 1 */
    uint32_t longest; /**< an answer has at most so many tokens; 0: 15 */
    /** Tokens of a window, with the question and what the tokenizer puts around both; 0: 384, or what
     * the model reads if that is less. A longer text is read in several windows. */
    int64_t window;
    /** Tokens that two neighbouring windows share; 0: 128, or half a window if that is less. Where the
     * question leaves no more than that of a window, half of what it leaves. */
    int64_t stride;
    /** Told how many of the call's windows are done, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_answerer_options;

/**
 * Prepares a model that answers questions.
 *
 * options may be NULL
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE     the model has no such head or no tokenizer, or was opened without a device
 *         TSR_E_ARGUMENT  a window or a stride is out of range
 */
TSR_API tsr_status tsr_answerer_create(tsr_model *model, const tsr_answerer_options *options,
                                       tsr_answerer **out);
/** Destroys it. *answerer may be NULL, and is NULL afterwards. */
TSR_API void tsr_answerer_destroy(tsr_answerer **answerer);

typedef struct tsr_answer_span {
    size_t begin, end; /**< in bytes of the text; both 0: the text has no answer */
    float score;       /**< a probability; those of equal answers in several places are added */
} tsr_answer_span;

typedef struct tsr_answerer_stats {
    uint32_t struct_size, reserved;
    uint64_t tokens;  /**< tokens that were run */
    uint64_t windows; /**< windows that were run */
    uint64_t
        cut; /**< questions that were cut, as they would have taken more than three quarters of a
                      window */
} tsr_answerer_stats;

/**
 * Finds the answers to n questions, each in a text of its own. An answer consists of whole words. Its
 * score is the product of the probabilities that it begins and ends there, over the tokens of a window.
 *
 * visit   gets the answers to each question, in order, n_answers of them, the best first, valid during
 *         its call; it returns not 0 to cancel
 * stats   may be NULL
 * thread  one call at a time for a model
 * error   TSR_E_DEVICE       a number is not finite
 *         TSR_E_UNSUPPORTED  the tokenizer's template for pairs is not one that can be cut
 *         TSR_E_CANCELLED    visit or progress asked for it
 * source  the pipeline "question-answering" of transformers 4, with its order and its scores
 */
TSR_API tsr_status tsr_answer_questions(
    tsr_answerer *answerer, const tsr_string *questions, const tsr_string *texts, size_t n,
    int (*visit)(void *data, size_t question, const tsr_answer_span *answers, size_t n_answers),
    void *data, tsr_answerer_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
