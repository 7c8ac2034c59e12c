/* tessera/classify.h - what a classifier says of texts, of pairs of texts, or of the words in them.
 */
#ifndef TESSERA_CLASSIFY_H
#define TESSERA_CLASSIFY_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_classifier tsr_classifier;

/** What the numbers of a classifier are, by config.json's problem_type and head. */
typedef enum tsr_classifier_kind {
    TSR_CLASSIFIER_SINGLE = 0,   /**< one label a text: probabilities that add up to 1 (softmax) */
    TSR_CLASSIFIER_MULTIPLE = 1, /**< any labels: a probability each (sigmoid) */
    TSR_CLASSIFIER_REGRESSION = 2, /**< the numbers themselves */
    TSR_CLASSIFIER_TOKENS = 3,     /**< a label a token: tsr_classify_tokens */
    TSR_CLASSIFIER_NEXT = 4 /**< whether the second of a pair follows the first: "next", "random" */
} tsr_classifier_kind;

typedef struct tsr_classify_options {
    uint32_t struct_size;
    uint32_t next;      /**< 1: the next-sentence head, where the model has one */
    int64_t max_tokens; /**< a longer text is cut; 0: what the model reads */
    /** Texts done so far, and in all of the call. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_classify_options;

/**
 * Readies a model with a classifier.
 *
 * owner   the caller destroys *out, before the model is closed
 * thread  one call at a time for a model
 * error   TSR_E_STATE     no such head, no tokenizer, or opened without a device
 *         TSR_E_ARGUMENT  max_tokens above what the model reads
 */
TSR_API tsr_status tsr_classifier_create(tsr_model *model, const tsr_classify_options *options,
                                         tsr_classifier **out);
TSR_API void tsr_classifier_destroy(tsr_classifier **classifier); /**< takes NULL content */
TSR_API tsr_classifier_kind tsr_classifier_kind_of(const tsr_classifier *classifier);
TSR_API uint32_t tsr_classifier_labels(const tsr_classifier *classifier);
/** As config.json's id2label has it, "LABEL_3" where it has none; borrowed. */
TSR_API const char *tsr_classifier_label(const tsr_classifier *classifier, uint32_t i);

typedef struct tsr_classify_stats {
    uint32_t struct_size, reserved;
    uint64_t tokens; /**< that were run */
    uint64_t cut;    /**< texts that were longer than the model reads */
} tsr_classify_stats;

/**
 * The scores of each of n texts, or of pairs of texts; each gets the bytes that it would get alone.
 *
 * seconds  NULL, or the second text of each pair
 * shape    scores: [n, labels]
 * error    TSR_E_STATE      the classifier labels tokens; or next sentence without seconds
 *          TSR_E_CANCELLED  progress asked for it
 */
TSR_API tsr_status tsr_classify(tsr_classifier *classifier, const tsr_string *texts,
                                const tsr_string *seconds, size_t n, float *scores,
                                tsr_classify_stats *stats);

/** A run of words that belong together. */
typedef struct tsr_span {
    size_t begin, end; /**< bytes of the text */
    const char *label; /**< without "B-" or "I-" */
    float score;       /**< the mean of its words' probabilities */
    uint32_t words;
} tsr_span;

/**
 * What each text names. A word has the label of its first token. Words whose labels are "B-X", then
 * "I-X", and equal neighbours without such a prefix, are one span; those labelled "O" are in none.
 *
 * visit  is given the spans of each text in order, n of them, valid for the call; not 0 cancels
 * error  TSR_E_STATE  the classifier labels texts, not tokens
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
