/* base/error.h - how a failure is reported: a status, and one sentence in the thread's record. */
#ifndef TSRI_BASE_ERROR_H
#define TSRI_BASE_ERROR_H

#include "tessera/status.h"

/* Writes the sentence to the record and returns `status`:
 *
 *     return tsri_base_fail(TSR_E_IO, "%s: ...", path);
 *
 * A sentence says what was given, what is wrong and what to do, without a newline or full stop at
 * its end. */
__attribute__((format(PRINTF, 2, 3))) tsr_status tsri_base_fail(tsr_status status,
                                                                const char *format, ...);

/* Puts `prefix` and ": " before the sentence of the failure that just happened, and returns
 * `status`. */
__attribute__((format(PRINTF, 2, 3))) tsr_status tsri_base_fail_within(tsr_status status,
                                                                       const char *prefix, ...);

/* Receives each sentence. The base archive does not define it: the library (base/record.c) keeps
 * the sentence in the thread's record, and a plugin passes it to its host. So a process has one
 * error record. */
void tsri_base_report(tsr_status status, const char *sentence);
const char *tsri_base_reported(void); /* the sentence last reported by this thread */

enum { TSRI_BASE_SENTENCE = 2048 }; /* the most bytes of a sentence, with the 0 at its end */
/* The sentence last reported by this thread, kept while something else may fail that is not to be told. */
typedef struct tsri_base_kept {
    char sentence[TSRI_BASE_SENTENCE];
} tsri_base_kept;
tsri_base_kept tsri_base_keep(void);
/* Reports it again. */
void tsri_base_restore(tsr_status status, const tsri_base_kept *kept);

/* tsr_plain_text (tessera/status.h), for plugins too. */
size_t tsri_base_plain(char *text, size_t n);

#define TRY(call)                       \
    do {                                \
        const tsr_status try_ = (call); \
        if (try_ != TSR_OK)             \
            return try_;                \
    } while (0)

#endif
