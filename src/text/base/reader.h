/* text/base/reader.h - a text file of any size, read in lines or in pieces, checked to be UTF-8. */
#ifndef TSRI_TEXT_BASE_READER_H
#define TSRI_TEXT_BASE_READER_H

#include "base/files.h"

enum {
    TSRI_TEXT_PIECE_WANTED = 1 << 18, /* bytes of a piece, about */
    TSRI_TEXT_LINE_LIMIT = 1 << 28    /* bytes of a line */
};

/* Where pieces end: they together are the text, and tokenize as it does. */
typedef enum tsri_text_cutting {
    /* After a line end between two characters that are no space, else before such a space, else
     * between characters: byte-level, WordPiece and character tokenizers give the same ids. Others
     * may put the mark of a word's beginning before a piece. */
    TSRI_TEXT_CUT_WORDS = 0,
    TSRI_TEXT_CUT_LINES /* after any line end, where there is one */
} tsri_text_cutting;

typedef struct tsri_text_reader tsri_text_reader;

/* A byte order mark at the start is left out. TSR_E_FORMAT: an empty file, or no regular one. */
tsr_status tsri_text_reader_open(const char *path, tsri_text_reader **out);
/* The next piece, *n 0 at the end. Borrowed until the next call; writable. TSR_E_FORMAT: bytes that
 * are no UTF-8, by line and byte; a line over the limit. */
tsr_status tsri_text_reader_piece(tsri_text_reader *reader, tsri_text_cutting cutting, char **text,
                                  size_t *n);
/* The next line without its end ("\n" or "\r\n"); *text NULL at the end of the file. Likewise. */
tsr_status tsri_text_reader_line(tsri_text_reader *reader, char **text, size_t *n);
/* The number, from 1, of the line where what was read last begins. */
uint64_t tsri_text_reader_number(const tsri_text_reader *reader);
/* Bytes read so far, and in all. */
void tsri_text_reader_progress(const tsri_text_reader *reader, uint64_t *done, uint64_t *total);
void tsri_text_reader_close(tsri_text_reader **reader);

/* Bytes of text that are safe to be tokenized apart from what follows (which is there: text is not
 * the end). text begins with a character and may end within one; 0: no character is whole. */
size_t tsri_text_cut_place(const char *text, size_t n, tsri_text_cutting cutting);

#endif
