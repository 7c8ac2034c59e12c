/* text/load/encodings.h - what tiktoken's files don't say: how a text is cut, and the special tokens.
 * A table of the encodings that are known. */
#ifndef TSRI_TEXT_LOAD_ENCODINGS_H
#define TSRI_TEXT_LOAD_ENCODINGS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Special tokens with ids in a row: before NUMBER behind, with the numbers from `number` on, `count` of
 * them. behind NULL: `before` alone, once. before NULL: `count` ids without a token. */
typedef struct tsri_text_special_run {
    const char *before, *behind;
    int32_t number, count;
} tsri_text_special_run;

typedef struct tsri_text_encoding {
    const char *name;           /* also of its file, "cl100k_base.tiktoken" */
    const char *model_types[2]; /* of a config.json */
    int32_t pieces;             /* in its file */
    const char *patterns[2];
    int32_t first; /* id of the first special token; -1: behind the pieces */
    const tsri_text_special_run *specials;
    size_t run_count;
    const char *bos, *eos, *pad; /* NULL: none */
    bool add_bos;
} tsri_text_encoding;

/* By the model_type of a config.json, else by the name of the file, else by the number of pieces; NULL:
 * none. Both texts may be NULL. */
const tsri_text_encoding *tsri_text_encoding_of(const char *model_type, const char *file,
                                                size_t pieces);
/* Appends the names of all, "r50k_base, p50k_base, ...". */
tsr_status tsri_text_encoding_names(tsri_bytes *out);

#endif
