/* text/base/json_scan.h - reads parts of a JSON text where they stand, without making values of them.
 *
 * What is unusual about a text is left to the JSON library: false, NULL or TSR_E_FORMAT here mean that
 * the whole text must be parsed, which tells what is wrong. */
#ifndef TSRI_TEXT_BASE_JSON_SCAN_H
#define TSRI_TEXT_BASE_JSON_SCAN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* A list or an object within a text, with its brackets. All zero: none. */
typedef struct tsri_text_span {
    const char *text;
    size_t size, count; /* of bytes; of entries */
} tsri_text_span;

/* TSR_E_FORMAT with a sentence that nobody reads. */
tsr_status tsri_text_scan_unusual(void);

/* Behind the white space at `at`. */
const char *tsri_text_scan_space(const char *at, const char *end);
/* Behind the value that begins at `at`, or NULL; *count is the number of entries of a list or object.
 * Only brackets and strings are looked at: what is between them is read later. */
const char *tsri_text_scan_value(const char *at, const char *end, size_t *count);
/* Calls `see` with each member of the object at *at, which it moves behind the object: its key with
 * the quotes, and where its value begins, which `see` moves behind the value. */
bool tsri_text_scan_object(const char **at, const char *end,
                           bool (*see)(void *data, const char *key, size_t n, const char **value),
                           void *data);
bool tsri_text_scan_is_key(const char *key, size_t n, const char *name);
/* Reads the string at *at, which it moves behind it. A string without escapes is borrowed, else it is
 * put into *own. That it is UTF-8 is for the caller to check. */
tsr_status tsri_text_scan_text(const char **at, const char *end, tsri_bytes *own, const char **text,
                               size_t *size);
/* Finds the list or object that is the member `name` of the object that the text is, and appends the text
 * with an empty one in its place. TSR_E_FORMAT where there is none, or more than one. */
tsr_status tsri_text_scan_cut(const char *text, size_t n, const char *name, tsri_text_span *span,
                              tsri_bytes *rest);

#endif
