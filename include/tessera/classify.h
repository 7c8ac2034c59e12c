/* tessera/classify.h - what a classifier says about texts, about pairs of texts, or about the words
 * in them. */
#ifndef TESSERA_CLASSIFY_H
#define TESSERA_CLASSIFY_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_classifier tsr_classifier; /**< a model with a classifier, ready to use */

/** What a classifier's numbers mean, by config.json's problem_type and the head. */
typedef enum tsr_classifier_kind {
    TSR_CLASSIFIER_SINGLE = 0,   /**< one label for a text: probabilities that sum to 1 (softmax) */
    TSR_CLASSIFIER_MULTIPLE = 1, /**< any number of labels: a probability for each (sigmoid) */
    TSR_CLASSIFIER_REGRESSION = 2, /**< plain numbers */
    TSR_CLASSIFIER_TOKENS = 3,     /**< a label for each token: see tsr_classify_tokens */
    /** Whether the second text of a pair follows the first: "next" or "random". */
    TSR_CLASSIFIER_NEXT = 4,
    TSR_CLASSIFIER_SPANS =
        5 /**< begin and end of an answer, for each token: see tessera/answer.h */
} tsr_classifier_kind;

typedef struct tsr_classify_options {
    uint32_t struct_size;
    uint32_t next;      /**< 1: the next-sentence head, where the model has one */
    int64_t max_tokens; /**< a longer text is cut; 0: what the model reads */
    /** Told how many of the call's texts are done, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** The name of a prompt of the model (a cross-encoder in a sentence-transformers folder), whose text is put
     * before the first text of each pair; "": none; NULL: the default one of the model's files, if there is one. A
     * single text has none. */
    const char *prompt;
    /** The text that is put there, in place of one of the model's prompts; NULL: `prompt` says it. */
    const char *prompt_text;
} tsr_classify_options;

/**
 * Prepares a model with a classifier.
 *
 * options may be NULL; prompt_text is borrowed for the classifier's life
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE     the model has no such head or no tokenizer, or was opened without a
 *                         device
 *         TSR_E_ARGUMENT  max_tokens is above what the model reads; the model has no such prompt (the
 *                         sentence lists those that it has); `prompt` and `prompt_text` are both given
 *         TSR_E_FORMAT    config_sentence_transformers.json breaks its format
 */
TSR_API tsr_status tsr_classifier_create(tsr_model *model, const tsr_classify_options *options,
                                         tsr_classifier **out);
/** Destroys it. *classifier may be NULL, and is NULL afterwards. */
TSR_API void tsr_classifier_destroy(tsr_classifier **classifier);
/** What its numbers mean. */
TSR_API tsr_classifier_kind tsr_classifier_kind_of(const tsr_classifier *classifier);
/** How many labels it has. */
TSR_API uint32_t tsr_classifier_labels(const tsr_classifier *classifier);
/**
 * The name of label i, from config.json's id2label; "LABEL_3" where that has none.
 *
 * owner   the classifier
 */
TSR_API const char *tsr_classifier_label(const tsr_classifier *classifier, uint32_t i);

typedef struct tsr_classify_stats {
    uint32_t struct_size, reserved;
    uint64_t tokens; /**< tokens that were run */
    uint64_t cut;    /**< texts that were cut, as they were longer than the model reads */
} tsr_classify_stats;

/**
 * Gives the scores of each of n texts, or pairs of texts: the same bytes that it would get alone.
 *
 * seconds  the second text of each pair, or NULL
 * stats    may be NULL
 * shape    scores: [n, labels]
 * units    as tsr_classifier_kind says
 * thread   one call at a time for a model
 * error    TSR_E_STATE        the classifier labels tokens; or it judges pairs
 *                             (TSR_CLASSIFIER_NEXT) and seconds is NULL
 *          TSR_E_UNSUPPORTED  a pair is longer than the model reads, and the tokenizer's template
 *                             is not one that can be cut; or the model's folder puts pairs into the
 *                             tokenizer's chat template
 *          TSR_E_DEVICE       a score is not finite
 *          TSR_E_CANCELLED    progress asked for it
 */
TSR_API tsr_status tsr_classify(tsr_classifier *classifier, const tsr_string *texts,
                                const tsr_string *seconds, size_t n, float *scores,
                                tsr_classify_stats *stats);
/**
 * Gives the numbers of the classifier itself for each of n texts, or pairs of texts: tsr_classify makes
 * scores of them, by softmax or sigmoid.
 *
 * shape    logits: [n, labels]
 * units    natural logarithms that are not normalised; of a regression, its numbers
 * thread   one call at a time for a model
 * error    as tsr_classify
 */
TSR_API tsr_status tsr_classify_logits(tsr_classifier *classifier, const tsr_string *texts,
                                       const tsr_string *seconds, size_t n, float *logits,
                                       tsr_classify_stats *stats);

/** Neighbouring words that belong together. */
typedef struct tsr_span {
    size_t begin, end; /**< in bytes of the text */
    /** That of its first word, without what stands up to the first "-" ("B-", "S-"). */
    const char *label;
    float score; /**< mean probability of its words */
    uint32_t words;
} tsr_span;

/**
 * Finds the named spans of each text. A word has the label of its first token. A word labelled
 * "B-X" and the words labelled "I-X" after it are one span, and so are neighbours with the same
 * label of any other form. A word labelled "O" is in no span. With the labels of another scheme ("B-X", "E-X",
 * "S-X") a span ends where the label changes, as in transformers' pipeline "token-classification".
 *
 * visit   gets the spans of each text, in order, n_spans of them, valid during its call; it returns
 *         not 0 to cancel
 * stats   may be NULL
 * thread  one call at a time for a model
 * error   TSR_E_STATE      the classifier labels texts, not tokens
 *         TSR_E_DEVICE     a score is not finite
 *         TSR_E_CANCELLED  visit asked for it
 */
TSR_API tsr_status tsr_classify_tokens(tsr_classifier *classifier, const tsr_string *texts,
                                       size_t n,
                                       int (*visit)(void *data, size_t text, const tsr_span *spans,
                                                    size_t n_spans),
                                       void *data, tsr_classify_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
