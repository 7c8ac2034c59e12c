/* text/stages/decode_steps.h - the steps of a decoder: each takes the text that the step before it
 * gives, and holds back what may still change. */
#ifndef TSRI_TEXT_STAGES_DECODE_STEPS_H
#define TSRI_TEXT_STAGES_DECODE_STEPS_H

#include "text/base/allowance.h"
#include "text/base/patterns.h"
#include "text/stages/decode.h"

#include <stdbool.h>

typedef struct tsri_text_decode_step tsri_text_decode_step;

typedef struct tsri_text_decode_row {
    const char *type;
    /* NULL: the type has no settings */
    tsr_status (*load)(const json_t *json, tsri_text_decode_step *s);
    tsr_status (*push)(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                       tsri_text_piece_type type);
    tsr_status (*finish)(tsri_text_decoding *d, size_t k); /* NULL: holds nothing back */
    bool joins;       /* its output is one text: the next step sees it as if fused */
    bool takes_parts; /* it takes one text in parts: a Fuse before it need not hold the text back */
} tsri_text_decode_row;

struct tsri_text_decode_step {
    const tsri_text_decode_row *row;
    tsri_text_pattern
        *pattern;  /* Replace; BPEDecoder's suffix; a space in SentencePiece's pieces */
    char *content; /* Replace; WordPiece's prefix */
    size_t content_size;
    char *unknown;             /* SentencePiece: what an unknown piece becomes */
    int32_t character;         /* Strip, Metaspace */
    int64_t start, stop;       /* Strip */
    bool strip_one, strip_all; /* SentencePiece; Metaspace: strip_one */
    bool cleanup, first;       /* WordPiece: its prefix begins a word */
    bool fused;                /* all its input is one text, in parts */
    bool passes;               /* Fuse: the stages after it can take the text in parts */
};

struct tsri_text_decoder {
    tsri_text_decode_step *stages;
    size_t count, capacity;
};

typedef struct tsri_text_decode_state {
    tsri_bytes held;
    bool started, any, bos_space;
    int64_t left, run; /* Strip: characters still to be removed at the start; characters held at
                          the end */
    size_t made;       /* bytes passed on */
} tsri_text_decode_state;

struct tsri_text_decoding {
    const tsri_text_decoder *decoder;
    tsri_text_decode_state *states;
    tsri_text_allowance allowance; /* for the pieces that were pushed */
    tsri_bytes *out;
};

/* Gives text to step k; past the last step it goes to the output. */
tsr_status tsri_text_decode_pass(tsri_text_decoding *d, size_t k, const char *text, size_t n,
                                 tsri_text_piece_type type);

extern const tsri_text_decode_row tsri_text_decode_sentencepiece, tsri_text_decode_word_piece,
    tsri_text_decode_join, tsri_text_decode_fuse;
/* The row of a tokenizer.json's type, or NULL. */
const tsri_text_decode_row *tsri_text_decode_row_named(const char *type);

#endif
