/* base/json.h - strict JSON by jansson, and typed reads that say which field was wrong. */
#ifndef TSRI_BASE_JSON_H
#define TSRI_BASE_JSON_H

#include "tessera/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses one value. Refuses text that is not UTF-8, duplicate keys, \u0000, nesting above `depth`
 * (before it parses), and anything but white space after the value. A whole number that does not
 * fit 64 bits is read as a real. `what` names the source in error sentences. */
tsr_status tsri_base_json_parse(const char *text, size_t n, int depth, const char *what,
                                json_t **out);
/* The same of what people and models say: texts, though not keys, may have \u0000. So the caller
 * takes their sizes from json_string_length. */
tsr_status tsri_base_json_parse_said(const char *text, size_t n, int depth, const char *what,
                                     json_t **out);
tsr_status tsri_base_json_load(const char *path, size_t limit, int depth, json_t **out);

/* Building values. put and append take over `value`. Where there is too little memory, which a NULL
 * value or container also means, nothing is added and the thread remembers it, until made, print or
 * save is called and fails; so what is given out is complete. made does not take over `value`. */
void tsri_base_json_put(json_t *object, const char *key, json_t *value);
/* The same, unless the field is there. */
void tsri_base_json_default(json_t *object, const char *key, json_t *value);
/* Gives a field, if it is there, another name. */
void tsri_base_json_rename(json_t *object, const char *from, const char *to);
void tsri_base_json_append(json_t *list, json_t *value);
tsr_status tsri_base_json_made(const json_t *value, const char *what);

/* The text of a value, which the caller frees; NULL where there is, or was, too little memory. */
char *tsri_base_json_print(const json_t *value, size_t flags);

/* Writes a value as text with a newline at its end; the file is written whole or not at all.
 * `flags` are those of json_dumps. A NULL value is TSR_E_HOST_MEMORY. */
tsr_status tsri_base_json_save(const char *path, const json_t *value, size_t flags);

/* Typed fields of an object. A missing key, or null, leaves *out as it is and gives TSR_OK; a value
 * of another type or outside [lowest, highest] is TSR_E_FORMAT with a sentence that names `what`
 * and the key. *out of text is borrowed from the object. */
tsr_status tsri_base_json_int(const json_t *object, const char *what, const char *key,
                              int64_t lowest, int64_t highest, int64_t *out);
tsr_status tsri_base_json_real(const json_t *object, const char *what, const char *key,
                               double lowest, double highest, double *out);
tsr_status tsri_base_json_bool(const json_t *object, const char *what, const char *key, bool *out);
tsr_status tsri_base_json_text(const json_t *object, const char *what, const char *key,
                               const char **out);

#endif
