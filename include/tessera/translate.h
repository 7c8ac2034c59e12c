/* tessera/translate.h - lines from one language to another, with an encoder-decoder. */
#ifndef TESSERA_TRANSLATE_H
#define TESSERA_TRANSLATE_H

#include "tessera/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_translate_options {
    uint32_t struct_size;
    uint32_t batch; /**< texts that are searched at once; 0: 32 */
    /** Languages, as the model's files or ISO 639-1 name them ("de", "deu_Latn", "German"). NULL:
     * what the model is made for, or its files say. */
    const char *source, *target;
    const char *target_prefix; /**< what every translation begins with; NULL: anything */
    uint32_t no_split;         /**< 1: a line longer than the model reads fails */
    uint32_t reserved;
    /** NULL: tsr_translate_defaults. What is drawn (temperature to min_p, seed), stop texts,
     * context and log-probabilities are not read. */
    const tsr_generate_options *search;
    /** Called as texts are found, with how many of how many source tokens of the lines read so far
     * are done. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t read);
    void *progress_data;
} tsr_translate_options;

/** tsr_generate_defaults, with four beams where the model's files name no number. */
TSR_API tsr_status tsr_translate_defaults(const tsr_model *model, tsr_generate_options *options);

typedef struct tsr_translation {
    const char *text; /**< valid UTF-8 with a 0 byte behind it */
    size_t size;
    float score; /**< sum of log-probabilities / length^A; the mean of its parts where the line was
                    cut; 0 where nothing was to be translated, and with one beam unless n_best */
    uint32_t reserved;
} tsr_translation;

typedef struct tsr_translated {
    uint32_t struct_size;
    uint32_t n;                  /**< translations, 1 to n_best; 0 where status is not TSR_OK */
    uint64_t line;               /**< its number, from 0 */
    const tsr_translation *best; /**< best first */
    uint32_t status;             /**< tsr_status: why this line has none */
    uint32_t parts;              /**< that it was cut into; 1: none, 0: only white space */
    const char *error;           /**< the sentence, where status is not TSR_OK */
} tsr_translated;

/** Gives the next line, without its end: 1, or 0 where there are no more, or (only where `wait` is
 * 0) -1 where none is at hand yet. The text (any bytes, NUL too; what is no UTF-8 counts as U+FFFD)
 * is read before the next call. */
typedef int (*tsr_line_fn)(void *data, int wait, const char **text, size_t *size);

/** Takes the lines in order, each once. Another value than 0 cancels. What it is given is valid for
 * the call. */
typedef int (*tsr_translated_fn)(void *data, const tsr_translated *translated);

typedef struct tsr_translate_stats {
    uint32_t struct_size, reserved;
    uint64_t lines, failed, cut;           /**< failed: without a translation; cut: into parts */
    uint64_t source_tokens, target_tokens; /**< of what was searched; of the best translations */
    uint64_t nanoseconds;
} tsr_translate_stats;

/**
 * Translates lines: as many out as in, in order, each as it would be alone. Lines are read ahead,
 * up to eight times the batch, and sorted by length, so memory is bounded by them. A line that is
 * empty or only white space stays empty. One that is longer than the model reads is cut at the ends
 * of its sentences (those still too long at commas, at white space, between characters), and the
 * translations are joined with the white space that was between.
 *
 * owner   all arguments are borrowed for the call; options and stats may be NULL
 * thread  one call at a time for a model
 * error   TSR_E_ARGUMENT     an option out of its range; a language that the model doesn't have:
 * the sentence lists its pairs TSR_E_UNSUPPORTED  the model is no encoder-decoder TSR_E_STATE it
 * has no tokenizer, or was opened without a device TSR_E_CANCELLED    the callback asked for it A
 * line that fails does not end the call: its status says why.
 */
TSR_API tsr_status tsr_translate(tsr_model *model, const tsr_translate_options *options,
                                 tsr_line_fn next, tsr_translated_fn translated, void *data,
                                 tsr_translate_stats *stats);

/** The best translation of a text, line by line, in new memory.  owner  the caller: tsr_text_free
 * error  as tsr_translate; and that of the first line that fails */
TSR_API tsr_status tsr_translate_text(tsr_model *model, const tsr_translate_options *options,
                                      const char *text, size_t size, char **out, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
