/* tessera/evaluate.h - how good a model is: how well it predicts a text, how close its translations
 * are to a reference, how often it finds the right label or the right answer. */
#ifndef TESSERA_EVALUATE_H
#define TESSERA_EVALUATE_H

#include "tessera/model.h"
#include "tessera/ranks.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_perplexity_options {
    uint32_t struct_size, reserved;
    int64_t window; /**< the most tokens that the model sees at once; 0: its context */
    int64_t stride; /**< tokens from one window to the next, 1 to window - 1; 0: half a window */
    /** Told how many tokens are scored, and how many there are; returns not 0 to cancel. May be
     * NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** Processes that share the windows; all of them make the call. NULL: this one is alone. Rank 0
     * gives the text and gets the result; others may give no text, and get zeros. */
    tsr_ranks *ranks;
} tsr_perplexity_options;

typedef struct tsr_perplexity {
    uint32_t struct_size, reserved;
    double loss;          /**< mean of -ln p(token | tokens before it in its window), in nats */
    double perplexity;    /**< e^loss */
    double bits_per_byte; /**< loss * tokens / ln 2 / bytes: comparable across tokenizers */
    /** Tokens that were scored: all of the text's except the first; or all, where the tokenizer
     * puts a beginning-of-sequence token before them. */
    uint64_t tokens;
    uint64_t bytes;         /**< of the text */
    uint64_t windows;       /**< windows that were run */
    int64_t window, stride; /**< as used */
    uint64_t nanoseconds;   /**< of running and scoring, without the tokenizer */
} tsr_perplexity;

/**
 * Scores a text in sliding windows. The first window scores all its tokens, each later one those
 * that the window before it did not reach. So each token is scored once, and those after the first
 * window are scored after at least window - stride others.
 *
 * This is Hugging Face's fixed-length perplexity: special tokens that the tokenizer adds, or that
 * the text names, count as they do there, and a token with no token before it is not scored. With
 * dynamic scaling and longrope the rotary frequencies are those of each window's own length.
 *
 * options may be NULL
 * units   loss: nats a token
 * alloc   the ids (4 bytes a token), and what one window needs: logits are computed in parts
 * thread  one call at a time for a model
 * error   TSR_E_FORMAT     the text is empty, is not UTF-8, or has fewer than two tokens
 *         TSR_E_ARGUMENT   window or stride is out of its range, or above the context (the sentence
 *                          gives both numbers)
 *         TSR_E_STATE      the model has no tokenizer, is not a decoder alone, or was opened without
 *                          a device
 *         TSR_E_DEVICE     a logit is not finite
 *         TSR_E_CANCELLED  progress asked for it
 *         TSR_E_PEER       a rank is gone
 * exact   sums are kept in f64, one for each window, and added in their order, so any number of
 *         ranks gives the same bytes; tests/cli/results/evaluate.py, against PyTorch
 * source  Hugging Face, Perplexity of fixed-length models
 */
TSR_API tsr_status tsr_evaluate_perplexity(tsr_model *model, const char *text, size_t size,
                                           const tsr_perplexity_options *options,
                                           tsr_perplexity *out);

/* ---- translations ---- */

typedef struct tsr_bleu {
    uint32_t struct_size, reserved;
    double score;                      /**< 0 to 100 */
    double precision[4];               /**< of n-grams of 1 to 4 words, in percent, smoothed */
    double brevity_penalty;            /**< below 1 where the translations have fewer words */
    uint64_t matches[4], ngrams[4];    /**< n-grams that are in the reference; all n-grams */
    uint64_t length, reference_length; /**< in words */
} tsr_bleu;

/**
 * BLEU of a corpus with one reference for each line, as sacrebleu computes it by default: words by
 * the rules of mteval-v13a (with its entities unescaped), case-sensitive, orders without a match
 * smoothed exponentially, and all four orders counted.
 *
 * shape   translations, references: [n], n >= 1; line i of one belongs to line i of the other
 * units   score and precision: percent
 * thread  any
 * error   TSR_E_FORMAT  n is 0, or a line is not UTF-8: the sentence says which
 * exact   tests/cli/results/scores.py, against sacrebleu
 * source  Papineni et al. 2002, BLEU; Post 2018, arXiv:1804.08771
 */
TSR_API tsr_status tsr_evaluate_bleu(const tsr_string *translations, const tsr_string *references,
                                     size_t n, tsr_bleu *out);
/** How BLEU is computed, as sacrebleu's signature with the version of this library. */
TSR_API const char *tsr_bleu_signature(void);

typedef struct tsr_chrf {
    uint32_t struct_size, reserved;
    double score;             /**< 0 to 100 */
    double precision, recall; /**< means over the orders, in percent */
    uint64_t matches[6], ngrams[6], reference_ngrams[6];
} tsr_chrf;

/**
 * chrF2 of a corpus with one reference for each line, as sacrebleu computes it by default: n-grams
 * of one to six characters, white space left out; recall has twice the weight of precision.
 *
 * shape   as for tsr_evaluate_bleu
 * units   score, precision and recall: percent
 * thread  any
 * error   as for tsr_evaluate_bleu
 * exact   tests/cli/results/scores.py, against sacrebleu
 * source  Popović 2015, chrF
 */
TSR_API tsr_status tsr_evaluate_chrf(const tsr_string *translations, const tsr_string *references,
                                     size_t n, tsr_chrf *out);
/** How chrF2 is computed, as sacrebleu's signature with the version of this library. */
TSR_API const char *tsr_chrf_signature(void);

/* ---- labels ---- */

typedef struct tsr_label_score {
    uint64_t wanted, given, right; /**< texts that have the label; that got it; both */
    /** right / given, right / wanted, and their harmonic mean; 0 where the divisor is 0 */
    double precision, recall, f1;
} tsr_label_score;

typedef struct tsr_label_scores {
    uint32_t struct_size;
    uint32_t labels; /**< labels that some text has or got: macro means are over these */
    uint64_t texts, right;
    double accuracy, micro_f1; /**< equal: each text has one label and gets one */
    double macro_precision, macro_recall, macro_f1;
    double weighted_f1; /**< mean of the labels' f1, weighted by how many texts have each */
} tsr_label_scores;

/**
 * Accuracy and F1 of a classifier that gives each text one label.
 *
 * shape   given, wanted: [n], numbers of labels, n >= 1; each: [labels], a result
 * range   given, wanted: 0 to labels - 1
 * thread  any
 * error   TSR_E_ARGUMENT  n is 0, or a number is out of its range
 * exact   tests/cli/results/scores.py
 */
TSR_API tsr_status tsr_evaluate_labels(const uint32_t *given, const uint32_t *wanted, size_t n,
                                       uint32_t labels, tsr_label_score *each,
                                       tsr_label_scores *out);

typedef struct tsr_evaluate_words_options {
    uint32_t struct_size, reserved;
    /** The lists of a JSONL file; NULL: "tokens", and "ner_tags", "tags" or "labels". */
    const char *words_field, *labels_field;
    /** Told how many texts are done; returns not 0 to cancel. May be NULL. */
    int (*progress)(void *data, uint64_t texts);
    void *progress_data;
    int64_t max_tokens; /**< a longer text is cut; 0: what the model reads */
    /** Processes that share the texts; all of them make the call. NULL: this one is alone. Rank 0
     * reads the file and gets the result; others get counts of 0. */
    tsr_ranks *ranks;
} tsr_evaluate_words_options;

typedef struct tsr_word_scores {
    uint32_t struct_size, reserved;
    uint64_t texts, words, right; /**< words that were judged, and those with the right label */
    uint64_t
        left_out; /**< words that were not judged: behind what the model reads, or without tokens */
    double accuracy; /**< right / words */
    uint64_t entities_wanted, entities_given, entities_right;
    double precision, recall, f1; /**< of entities; NaN where no label begins one */
} tsr_word_scores;

/**
 * How often a classifier of words is right on texts whose words have labels. A word has the label of its first token. An
 * entity is a word labelled "B-X" with the words labelled "I-X" right behind it; it is right if kind, first and last word
 * are.
 *
 * path     a text file: a word a line, its label in the last column, a blank line behind each text; or .jsonl
 *          (docs/training.md)
 * options  may be NULL
 * alloc    8 bytes for each token of the file, and what a run of 64 texts needs
 * thread   one call at a time for a model
 * error    TSR_E_STATE      the model has no classifier of words, or no tokenizer, or was opened without a device
 *          TSR_E_ARGUMENT   max_tokens is above what the model reads
 *          TSR_E_FORMAT     the file, by line: no label, or one that the model does not have
 *          TSR_E_IO         the file can't be read
 *          TSR_E_CANCELLED  progress asked for it
 *          TSR_E_PEER       a rank is gone
 * exact    tests/cli/training/train.py; entities: tests/train/words.c, against seqeval's strict mode with IOB2
 */
TSR_API tsr_status tsr_evaluate_words(tsr_model *model, const char *path,
                                      const tsr_evaluate_words_options *options,
                                      tsr_word_scores *out);

/* ---- answers ---- */

typedef struct tsr_answer_score {
    uint32_t exact, reserved; /**< exact: 1 where the answer is one of the right ones */
    double f1;                /**< of its words, 0 to 1 */
} tsr_answer_score;

typedef struct tsr_answer_scores {
    uint32_t struct_size, reserved;
    uint64_t questions, answerable;               /**< answerable: those that have a right answer */
    uint64_t exact;                               /**< questions that got exactly a right answer */
    double exact_match, f1;                       /**< means over all questions, 0 to 100 */
    double answerable_exact_match, answerable_f1; /**< over those; NaN where there are none */
    double unanswerable_exact_match; /**< over the others, whose F1 is the same; NaN where there are
                                        none */
} tsr_answer_scores;

/**
 * Exact match and F1 of answers to questions, as SQuAD's evaluation computes them. Answers are compared
 * in lower case, without ASCII punctuation, without the articles a, an and the, and with one blank
 * between words. F1 is that of the words which an answer shares with a right one, as often as both have
 * them. Of several right answers the best one counts; a question without any wants the empty answer.
 *
 * shape   given: [n], an answer to each question, n >= 1; empty: the text has no answer
 *         wanted: the right answers, those of a question behind those of the one before; counts: [n],
 *         how many each question has, 0 or more
 *         each: [n], a result; may be NULL
 * thread  any
 * error   TSR_E_ARGUMENT  n is 0
 *         TSR_E_FORMAT    an answer is not UTF-8: the sentence says which
 * exact   tests/cli/results/squad.py, against the evaluation of SQuAD 2.0; it gives the numbers of 1.1
 *         where every question has an answer with a word that is not an article. A final sigma counts as a sigma
 * source  Rajpurkar et al. 2016, arXiv:1606.05250; Rajpurkar et al. 2018, arXiv:1806.03822
 */
TSR_API tsr_status tsr_evaluate_answers(const tsr_string *given, const tsr_string *wanted,
                                        const uint32_t *counts, size_t n, tsr_answer_score *each,
                                        tsr_answer_scores *out);

#ifdef __cplusplus
}
#endif
#endif
