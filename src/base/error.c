/* base/error.c - formats the sentences of failures and passes them to the record. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names and values in a sentence come from files, so none of their bytes may control a terminal. */
static void report(tsr_status status, char *sentence) {
    sentence[tsri_base_plain(sentence, strlen(sentence))] = 0;
    tsri_base_report(status, sentence);
}

tsr_status tsri_base_fail(tsr_status status, const char *format, ...) {
    char sentence[TSRI_BASE_SENTENCE];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    report(status, sentence);
    return status;
}

tsri_base_kept tsri_base_keep(void) {
    tsri_base_kept kept;
    snprintf(kept.sentence, sizeof kept.sentence, "%s", tsri_base_reported());
    return kept;
}

void tsri_base_restore(tsr_status status, const tsri_base_kept *kept) {
    tsri_base_report(status, kept->sentence);
}

tsr_status tsri_base_fail_within(tsr_status status, const char *prefix, ...) {
    char sentence[TSRI_BASE_SENTENCE];
    va_list args;
    va_start(args, prefix);
    const int n = vsnprintf(sentence, sizeof sentence, prefix, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof sentence)
        snprintf(sentence + n, sizeof sentence - (size_t)n, ": %s", tsri_base_reported());
    report(status, sentence);
    return status;
}
