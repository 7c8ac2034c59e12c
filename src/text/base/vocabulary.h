/* text/base/vocabulary.h - pieces and their ids, both ways. */
#ifndef TSRI_TEXT_BASE_VOCABULARY_H
#define TSRI_TEXT_BASE_VOCABULARY_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TSRI_TEXT_IDS_LIMIT = 1 << 24, /* ids are below this */
    TSRI_TEXT_PIECE_LIMIT = 8192   /* bytes in one piece */
};

typedef struct tsri_text_entry {
    uint32_t start, size; /* in `text` */
    bool present;         /* ids may have gaps */
    bool added;           /* an added token, which a model never makes of text */
} tsri_text_entry;

/* All zero is an empty vocabulary. */
typedef struct tsri_text_vocabulary {
    tsri_bytes text;
    tsri_text_entry *entries; /* by id, `count` of them */
    size_t count, capacity, present, longest;
    int32_t *slots; /* open addressing: id + 1, or 0 for an empty slot */
    size_t slot_count;
} tsri_text_vocabulary;

/* Makes room for so many pieces in all, which otherwise is made while they come. */
tsr_status tsri_text_vocabulary_reserve(tsri_text_vocabulary *v, size_t count);
/* Gives `id` the piece. TSR_E_FORMAT: an id that is negative, too large or already taken, a piece
 * that is empty or too long, invalid UTF-8, or, unless `again`, a piece that already has an id;
 * with `again` the piece is found under its latest id. */
tsr_status tsri_text_vocabulary_put(tsri_text_vocabulary *v, int64_t id, const char *piece,
                                    size_t n, bool again);
/* The same with `again` for an added token. over: it may take the place of a piece of the model. */
tsr_status tsri_text_vocabulary_add(tsri_text_vocabulary *v, int64_t id, const char *piece,
                                    size_t n, bool over);
/* Counts an id that has no piece, or one of 0 bytes, which no text has. */
tsr_status tsri_text_vocabulary_skip(tsri_text_vocabulary *v, int64_t id);
int32_t tsri_text_vocabulary_find(const tsri_text_vocabulary *v, const char *piece,
                                  size_t n); /* -1: none */
/* The same among the model's own pieces: what a model looks up is text, and text becomes an added token only where
 * the search for those finds it. */
int32_t tsri_text_vocabulary_find_own(const tsri_text_vocabulary *v, const char *piece, size_t n);
/* Borrowed, not terminated; NULL for an id without a piece. */
const char *tsri_text_vocabulary_piece(const tsri_text_vocabulary *v, int64_t id, size_t *n);
/* The ids of "<0x00>" ... "<0xFF>", -1 where missing. */
void tsri_text_vocabulary_byte_ids(const tsri_text_vocabulary *v, int32_t ids[256]);
/* The byte that a piece "<0xHH>" stands for, or -1 for any other piece. */
int tsri_text_byte_of_piece(const char *piece, size_t n);
void tsri_text_vocabulary_clear(tsri_text_vocabulary *v);

/* SentencePiece's piece types, as its files and GGUF number them. */
typedef enum tsri_text_piece_type {
    TSRI_TEXT_NORMAL = 1,
    TSRI_TEXT_UNKNOWN = 2,
    TSRI_TEXT_CONTROL = 3,
    TSRI_TEXT_USER_DEFINED = 4,
    TSRI_TEXT_UNUSED = 5,
    TSRI_TEXT_BYTE = 6
} tsri_text_piece_type;

#endif
