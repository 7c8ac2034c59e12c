/* text/load/pieces.h - makes a tokenizer from pieces with scores and types, which three file
 * formats share. */
#ifndef TSRI_TEXT_LOAD_PIECES_H
#define TSRI_TEXT_LOAD_PIECES_H

#include "text/tokenizer/parts.h"

typedef struct tsri_text_scored {
    const char *text;
    size_t size;
    float score;
    uint8_t type;
} tsri_text_scored;

typedef struct tsri_text_scored_rules {
    tsri_text_space_rules spaces;
    const char *space;        /* what stands for a space in pieces */
    const char *surface;      /* what an unknown piece is decoded to; NULL: SentencePiece's own */
    bool whole_in_model;      /* user-defined pieces are found by the model; else as added tokens */
    bool duplicates;          /* a piece may have several ids; the last is found */
    bool unigram;             /* the most probable pieces; else merges by score */
    int32_t unknown;          /* -1: the first piece of that type */
    tsri_text_charsmap **map; /* taken over and set to NULL; NULL: no map */
} tsri_text_scored_rules;

/* Fills an empty tokenizer: SentencePiece BPE or Unigram over `count` pieces. */
tsr_status tsri_text_load_scored(const tsri_text_scored *pieces, size_t count,
                                 const tsri_text_scored_rules *rules, tsri_text_tokenizer *t);

#endif
