/* cli/serve/texts.h - requests for a result of each of many texts (a vector, a rank). The engine runs them in
 * pieces, so that they don't keep those who wait for text waiting. */
#ifndef TESSERA_CLI_SERVE_TEXTS_H
#define TESSERA_CLI_SERVE_TEXTS_H

#include "cli/serve/errands.h"

enum { TSRI_SERVE_TEXTS = 2048 };

typedef struct tsri_serve_length {
    size_t size, text; /* bytes; number of the text */
} tsri_serve_length;

typedef struct tsri_serve_texts {
    tsri_serve_errand errand;
    const struct tsri_serve_texts_kind *kind;
    /* set by the kind's `begin` */
    tsri_serve_model *model;
    tsr_string texts[TSRI_SERVE_TEXTS]; /* of the body */
    size_t n, width;                    /* texts, 1 to TSRI_SERVE_TEXTS; numbers for each */
    size_t beside;                      /* bytes that are read with each text */
    /* set by the pieces */
    tsri_serve_length order[TSRI_SERVE_TEXTS]; /* the shortest first */
    size_t done;                               /* of them in that order */
    uint64_t tokens;
    float *numbers; /* [n, width] */
} tsri_serve_texts;

typedef struct tsri_serve_texts_kind {
    tsri_serve_use use;
    size_t size; /* of its own struct, which begins with a tsri_serve_texts */
    /* Reads the body; the model is chosen. False: *f says why. */
    bool (*begin)(tsri_serve_texts *w, tsri_serve_failure *f);
    /* rows: [n, width], the numbers of n texts; adds to w->tokens. False: *f says why not. */
    bool (*run)(tsri_serve_texts *w, const tsr_string *texts, size_t n, float *rows,
                tsri_serve_failure *f);
    json_t *(*answer)(tsri_serve_texts *w);
} tsri_serve_texts_kind;

/* Takes a request. */
void tsri_serve_take_texts(tsri_serve_exchange *x, const tsri_serve_texts_kind *kind);
/* Runs a piece of the oldest request, which then is the youngest. small: others wait for text. */
void tsri_serve_texts_step(tsri_serve_server *s, bool small);

#endif
