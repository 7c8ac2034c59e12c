/* base/json.h - strict JSON by jansson, and typed reads that say which field was wrong. */
#ifndef TSRI_BASE_JSON_H
#define TSRI_BASE_JSON_H

#include "tessera/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* UTF-8 checked, duplicate keys refused, nesting above `depth` refused before parsing, no bytes but
 * white space after the value. A whole number past 64 bits is read as a real. `what` names the
 * source in the sentence. */
tsr_status tsri_base_json_parse(const char *text, size_t n, int depth, const char *what,
                                json_t **out);
tsr_status tsri_base_json_load(const char *path, size_t limit, int depth, json_t **out);

/* Values that are made. Both own `value`. Where memory is out, which a value or container of NULL
 * says too, nothing is put and the thread keeps that in mind, until made, print or save is asked
 * and fails: what is given out is whole. `value` of made is not taken. */
void tsri_base_json_put(json_t *object, const char *key, json_t *value);
void tsri_base_json_append(json_t *list, json_t *value);
tsr_status tsri_base_json_made(const json_t *value, const char *what);

/* Its text, the caller's to free; NULL where memory is, or was, out. */
char *tsri_base_json_print(const json_t *value, size_t flags);

/* Writes it as a line of text or more, a file that is whole or not there; `flags` are json_dumps'.
 * NULL is TSR_E_HOST_MEMORY. */
tsr_status tsri_base_json_save(const char *path, const json_t *value, size_t flags);

/* Typed fields of an object. A missing key, or null, leaves *out alone and is TSR_OK; a value of
 * another type or out of [lowest, highest] is TSR_E_FORMAT naming `what` and the key. *out of text
 * is borrowed from the object. */
tsr_status tsri_base_json_int(const json_t *object, const char *what, const char *key,
                              int64_t lowest, int64_t highest, int64_t *out);
tsr_status tsri_base_json_real(const json_t *object, const char *what, const char *key,
                               double lowest, double highest, double *out);
tsr_status tsri_base_json_bool(const json_t *object, const char *what, const char *key, bool *out);
tsr_status tsri_base_json_text(const json_t *object, const char *what, const char *key,
                               const char **out);

#endif
