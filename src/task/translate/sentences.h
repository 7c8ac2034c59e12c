/* task/translate/sentences.h - where a long line may be cut. */
#ifndef TSRI_TASK_TRANSLATE_SENTENCES_H
#define TSRI_TASK_TRANSLATE_SENTENCES_H

#include <stddef.h>

/* The first sentence of a text, with the white space that follows it, in bytes; n where there is no
 * end of one. An end is one of . ! ? and their wide forms, with the quotes and brackets that close
 * after it, and white space (after the wide forms: nothing). A full stop after a number, a single
 * letter or a known abbreviation, or before a small letter, is none. */
size_t tsri_task_sentence(const char *text, size_t n);

/* Where to cut what is still too long, in bytes, 0 < cut < n where n > 1: near the middle, after a
 * comma, semicolon or colon; else after white space; else between two characters. */
size_t tsri_task_sentence_middle(const char *text, size_t n);

/* Bytes of white space at the end; at the beginning. */
size_t tsri_task_blank_end(const char *text, size_t n);
size_t tsri_task_blank_begin(const char *text, size_t n);

#endif
