/* tessera/translate.h - lines from one language to another, with an encoder-decoder. */
#ifndef TESSERA_TRANSLATE_H
#define TESSERA_TRANSLATE_H

#include "tessera/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_translate_options {
    uint32_t struct_size;
    uint32_t batch; /**< texts that are translated at once; 0: 32 */
    /** Languages, as the model's files name them ("de", "de_DE", "deu_Latn"), or what is before the
     * "_" where one language alone begins so. NULL: what the model is made for, or what its files say. */
    const char *source, *target;
    /** What every translation begins with; NULL: anything. In a CTranslate2 folder its tokens count as
     * new ones, as there: in max_new_tokens, min_new_tokens and the length that a score is divided by. */
    const char *target_prefix;
    uint32_t no_split; /**< 1: a line longer than the model reads fails */
    uint32_t reserved;
    /** NULL: tsr_translate_defaults. The settings of a draw (temperature to min_p, seed), stop
     * texts, context and log-probabilities are not read. */
    const tsr_generate_options *search;
    /** Told how many source tokens are translated, and how many the lines read so far have; returns
     * not 0 to cancel. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t read);
    void *progress_data;
    uint64_t first_line; /**< the number of the first line, from 0 */
} tsr_translate_options;

/**
 * As tsr_generate_defaults, but where the model's files give no number of beams, with four, or with
 * two for CTranslate2 folders, as CTranslate2 does.
 *
 * thread  one call at a time for a model
 * error   as for tsr_generate_defaults
 */
TSR_API tsr_status tsr_translate_defaults(const tsr_model *model, tsr_generate_options *options);

typedef struct tsr_translation {
    const char *text; /**< valid UTF-8 that ends with a 0 byte */
    size_t size;      /**< in bytes, without the 0 byte */
    /** Sum of log-probabilities / length^A; where the line was cut, the mean of its parts; 0 where
     * there was nothing to translate, and with one beam unless n_best is set. */
    float score;
    uint32_t reserved;
} tsr_translation;

typedef struct tsr_translated {
    uint32_t struct_size;
    uint32_t n;                  /**< translations, 1 to n_best; 0 where status is not TSR_OK */
    uint64_t line;               /**< the line's number, from first_line */
    const tsr_translation *best; /**< [n], best first */
    uint32_t status;             /**< tsr_status: why this line has no translation */
    uint32_t parts;    /**< how many the line was cut into; 1: not cut, 0: only white space */
    const char *error; /**< the sentence, where status is not TSR_OK */
} tsr_translated;

/** Gives the next line, without its line end, and returns 1; returns 0 where there are no more
 * lines, and, only where `wait` is 0, -1 where no line has arrived yet. The text may hold any
 * bytes, NUL too; those that are not UTF-8 count as U+FFFD. It is read before the next call. */
typedef int (*tsr_line_fn)(void *data, int wait, const char **text, size_t *size);

/** Takes the lines in order, each once. Returns not 0 to cancel. What it is given is valid during
 * its call. */
typedef int (*tsr_translated_fn)(void *data, const tsr_translated *translated);

typedef struct tsr_translate_stats {
    uint32_t struct_size, reserved;
    uint64_t lines, failed, cut; /**< all; those without a translation; those cut into parts */
    uint64_t source_tokens, target_tokens; /**< that were read; of the best translations */
    uint64_t nanoseconds;
} tsr_translate_stats;

/**
 * Translates lines: one out for each in, in order, each as it would be alone. Lines are read ahead,
 * up to eight times the batch, and sorted by length, so memory is bounded. A line that is empty or
 * only white space stays empty. A line that is longer than the model reads is cut at the ends of
 * its sentences (sentences that are still too long: at commas, at white space, between characters),
 * and the translations are joined with the white space that was between the parts.
 *
 * Where ranks share the model's layers (tsr_model_options.ranks), all translate the same lines: `next`
 * answers alike on each of them, so never with -1.
 *
 * options may be NULL
 * stats   may be NULL
 * owner   all arguments are borrowed for the call
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT     an option is out of its range; presence_penalty, frequency_penalty,
 *                            logit_bias, a grammar or a JSON schema is given; the model does not have
 *                            a language: the sentence lists its pairs
 *         TSR_E_UNSUPPORTED  the model is not an encoder-decoder
 *         TSR_E_STATE        the model has no tokenizer, or was opened without a device
 *         TSR_E_CANCELLED    a callback asked for it
 *         A line that fails does not end the call: its status says why
 */
TSR_API tsr_status tsr_translate(tsr_model *model, const tsr_translate_options *options,
                                 tsr_line_fn next, tsr_translated_fn translated, void *data,
                                 tsr_translate_stats *stats);

/**
 * Gives the best translation of a text, line by line.
 *
 * options may be NULL
 * n       the length in bytes; may be NULL
 * owner   *out is new memory; the caller frees it with tsr_text_free
 * thread  one call at a time for a model
 * error   those of tsr_translate, and that of the first line that fails
 */
TSR_API tsr_status tsr_translate_text(tsr_model *model, const tsr_translate_options *options,
                                      const char *text, size_t size, char **out, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
