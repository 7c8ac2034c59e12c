/* text/base/pattern_json.h - what every part of a tokenizer.json is read with: its type, its list,
 * its pattern. */
#ifndef TSRI_TEXT_BASE_PATTERN_JSON_H
#define TSRI_TEXT_BASE_PATTERN_JSON_H

#include "base/bytes.h"
#include "base/json.h"
#include "text/base/patterns.h"

/* The "type" of a part; TSR_E_FORMAT when json is not an object or has no type. */
tsr_status tsri_text_type_of(const json_t *json, const char *what, const char **type);
/* The array under `key`, which must be there. */
tsr_status tsri_text_list_of(const json_t *json, const char *what, const char *key,
                             const json_t **list);
/* "pattern": {"String": ...} or {"Regex": ...}. */
tsr_status tsri_text_pattern_from_json(const json_t *json, const char *what,
                                       tsri_text_pattern **out);
/* The text under `key`, which must be exactly one character; *out stays as it is where the key is
 * missing. */
tsr_status tsri_text_character_from_json(const json_t *json, const char *what, const char *key,
                                         int32_t *out);
/* Appends the bytes that a base64 text encodes; TSR_E_FORMAT where it is none. */
tsr_status tsri_text_base64(const char *text, size_t n, tsri_bytes *out);
/* Appends the bytes that the base64 text under `key` encodes; the key must be there. */
tsr_status tsri_text_base64_from_json(const json_t *json, const char *what, const char *key,
                                      tsri_bytes *out);

#endif
