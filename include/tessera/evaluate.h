/* tessera/evaluate.h - how well a model predicts a text: what a dtype, a context or another model
 * costs. */
#ifndef TESSERA_EVALUATE_H
#define TESSERA_EVALUATE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_perplexity_options {
    uint32_t struct_size, reserved;
    int64_t window; /**< tokens that the model sees at most; 0: its context */
    int64_t stride; /**< tokens from one window to the next, 1 to window - 1; 0: half a window */
    /** Tokens scored so far, and in all. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_perplexity_options;

typedef struct tsr_perplexity {
    uint32_t struct_size, reserved;
    double loss;            /**< mean of -ln p(token | tokens before it in its window), in nats */
    double perplexity;      /**< e^loss */
    double bits_per_byte;   /**< loss * tokens / ln 2 / bytes: comparable across tokenizers */
    uint64_t tokens;        /**< scored: all of the text but its first, or all where the tokenizer
                               puts a beginning-of-sequence token before it */
    uint64_t bytes;         /**< of the text */
    uint64_t windows;       /**< that were run */
    int64_t window, stride; /**< as used */
    uint64_t nanoseconds;   /**< of running and scoring, without the tokenizer */
} tsr_perplexity;

/**
 * Scores a text in sliding windows: the first window scores all of its tokens, each later one those
 * that the one before it did not reach, so every token is scored once, and all but those of the
 * first window after at least window - stride others.
 *
 * Hugging Face's fixed-length perplexity: special tokens that the tokenizer adds, or that the text
 * names, count as it counts them, and a token without any before it is not scored.
 *
 * alloc   the ids (4 bytes a token), and what one window needs: logits go by pieces
 * thread  one call at a time for a model
 * error   TSR_E_FORMAT     the text is empty, is not UTF-8, or has fewer than two tokens
 *         TSR_E_ARGUMENT   window or stride out of range, or past the context (both numbers said)
 *         TSR_E_STATE      no tokenizer; the model was opened without a device
 *         TSR_E_DEVICE     logits that are no numbers
 *         TSR_E_CANCELLED  progress asked for it
 * exact   the sum is kept in f64; tests/cli/evaluate.py, against PyTorch
 * source  Hugging Face, Perplexity of fixed-length models
 */
TSR_API tsr_status tsr_evaluate_perplexity(tsr_model *model, const char *text, size_t size,
                                           const tsr_perplexity_options *options,
                                           tsr_perplexity *out);

#ifdef __cplusplus
}
#endif
#endif
