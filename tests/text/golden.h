/* tests/text/golden.h - reads expectations and compares a tokenizer with them. */
#ifndef TESTS_TEXT_GOLDEN_H
#define TESTS_TEXT_GOLDEN_H

#include "text/load/load.h"
#include "text/tokenizer/tokenizer.h"

/* tests/golden/tokenizers/NAME of the source tree; the caller clears the text. */
tsri_bytes golden_own(const char *name);
/* NAME below $TESSERA_SHARED, for a LARGER_TEST that needs it. */
tsri_bytes golden_shared(const char *name);
/* Parses JSON in which texts may have NULs. */
json_t *golden_json(const tsri_bytes *bytes);

json_t *golden_own_json(const char *name);
/* A copy of a tokenizer.json with some top-level parts replaced; "model+" replaces parts of the
 * model. */
json_t *golden_with_parts(const json_t *base, const json_t *parts);

/* On a difference all of these fail the test, with the text, the result and the expectation. */
tsri_text_tokenizer *golden_from_json(const json_t *json);
void golden_encodes(const tsri_text_tokenizer *t, const char *text, size_t n, unsigned flags,
                    const json_t *ids);
void golden_is(const json_t *wanted, const tsri_text_ids *got, const char *what);
/* decode gives the text, and so does a stream that is pushed id by id; every part of it is valid
 * UTF-8. */
void golden_decodes(const tsri_text_tokenizer *t, const json_t *ids, bool skip_special,
                    const json_t *text);
/* Compares each line with {"ids": [...], "decoded": [...]}, and texts that are not UTF-8 with
 * [{"hex", "ids", "decoded"}]. */
void golden_lines(const tsri_text_tokenizer *t, const json_t *lines, const json_t *rows,
                  unsigned flags);
/* Compares each pair with {"text": [a, b], "ids": [...], "type_ids": [...]}. */
void golden_pairs(const tsri_text_tokenizer *t, const json_t *rows, unsigned flags);
void golden_broken(const tsri_text_tokenizer *t, const json_t *rows);

#endif
