/* text/base/pattern_json.h - reads that every part of a tokenizer.json shares: its type, its
 * list, its pattern. */
#ifndef TSRI_TEXT_BASE_PATTERN_JSON_H
#define TSRI_TEXT_BASE_PATTERN_JSON_H

#include "base/bytes.h"
#include "base/json.h"
#include "text/base/patterns.h"

/* The "type" of a part; TSR_E_FORMAT when json is no object or has none. */
tsr_status tsri_text_type_of(const json_t *json, const char *what, const char **type);
/* The array under `key`, which must be there. */
tsr_status tsri_text_list_of(const json_t *json, const char *what, const char *key,
                             const json_t **list);
/* "pattern": {"String": ...} or {"Regex": ...}. */
tsr_status tsri_text_pattern_from_json(const json_t *json, const char *what,
                                       tsri_text_pattern **out);
/* A text of exactly one character under `key`; *out is left alone where it is missing. */
tsr_status tsri_text_character_from_json(const json_t *json, const char *what, const char *key,
                                         int32_t *out);
/* Appends the bytes of a text in base64 under `key`, which must be there. */
tsr_status tsri_text_base64_from_json(const json_t *json, const char *what, const char *key,
                                      tsri_bytes *out);

#endif
