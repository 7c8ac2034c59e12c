/* text/base/reader.h - reads a text file of any size, by lines or by pieces, and checks that it is
 * UTF-8. */
#ifndef TSRI_TEXT_BASE_READER_H
#define TSRI_TEXT_BASE_READER_H

#include "base/files.h"

enum {
    TSRI_TEXT_PIECE_WANTED = 1 << 18, /* bytes of a piece, approximately */
    TSRI_TEXT_LINE_LIMIT = 1 << 28    /* bytes of a line */
};

/* Where pieces end: together they are the text, and they tokenize as the whole text does. */
typedef enum tsri_text_cutting {
    /* After a line end that has no space on either side, else before such a space, else between
     * characters: byte-level, WordPiece and character tokenizers give the same ids. Others may put
     * the mark of a word's beginning before a piece. */
    TSRI_TEXT_CUT_WORDS = 0,
    TSRI_TEXT_CUT_LINES /* after any line end, where there is one */
} tsri_text_cutting;

typedef struct tsri_text_reader tsri_text_reader;

/* A byte order mark at the start is left out. TSR_E_FORMAT: the file is empty or not a regular
 * file. */
tsr_status tsri_text_reader_open(const char *path, tsri_text_reader **out);
/* The next piece; *n is 0 at the end. The text is borrowed until the next call, and writable.
 * TSR_E_FORMAT: bytes that are not UTF-8, named by line and byte; a line over the limit. */
tsr_status tsri_text_reader_piece(tsri_text_reader *reader, tsri_text_cutting cutting, char **text,
                                  size_t *n);
/* The next line without its end ("\n" or "\r\n"); *text is NULL at the end of the file. Borrowed,
 * writable and checked as a piece is. */
tsr_status tsri_text_reader_line(tsri_text_reader *reader, char **text, size_t *n);
/* The number, from 1, of the line in which the last piece or line begins. */
uint64_t tsri_text_reader_number(const tsri_text_reader *reader);
/* The bytes read so far, and all bytes of the file. */
void tsri_text_reader_progress(const tsri_text_reader *reader, uint64_t *done, uint64_t *total);
void tsri_text_reader_close(tsri_text_reader **reader);

/* How many bytes of text can be tokenized apart from what follows (the file goes on after text).
 * text begins with a character and may end within one; 0: it has no whole character. */
size_t tsri_text_cut_place(const char *text, size_t n, tsri_text_cutting cutting);

#endif
