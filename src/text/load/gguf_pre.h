/* text/load/gguf_pre.h - how a byte-pair vocabulary of GGUF cuts a text, which the file only names. */
#ifndef TSRI_TEXT_LOAD_GGUF_PRE_H
#define TSRI_TEXT_LOAD_GGUF_PRE_H

#include "tessera/status.h"

#include <stdbool.h>

enum { TSRI_TEXT_GGUF_PATTERNS = 6 };

typedef struct tsri_text_gguf_pre {
    const char *names;                             /* separated by spaces */
    const char *patterns[TSRI_TEXT_GGUF_PATTERNS]; /* applied one after the other */
    bool ignore_merges;                            /* a word that is a piece is not cut */
    bool add_bos;                                  /* unless the file says otherwise */
    bool add_sep;                                  /* the same, between the texts of a pair */
    bool characters; /* pieces are characters, with U+2581 for a space and <0xHH> for a byte that no
                           piece has, not GPT-2's alphabet */
    bool words; /* the same without U+2581: words stand between white space, which is left out */
} tsri_text_gguf_pre;

/* TSR_E_UNSUPPORTED: a name that is not in the table. */
tsr_status tsri_text_gguf_pre_of(const char *name, const tsri_text_gguf_pre **out);

#endif
