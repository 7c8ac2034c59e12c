/* task/translate/sentences.h - finds where a long line may be cut. */
#ifndef TSRI_TASK_TRANSLATE_SENTENCES_H
#define TSRI_TASK_TRANSLATE_SENTENCES_H

#include <stddef.h>

/* The bytes of the first sentence of a text, with the white space that follows it; n where no
 * sentence ends. An end is one of . ! ? or their wide forms, then closing quotes and brackets, then
 * white space (not needed after wide forms). A full stop after a number, a single letter or a known
 * abbreviation, or before a small letter, is not an end. */
size_t tsri_task_sentence(const char *text, size_t n);

/* Where to cut a sentence that is too long, in bytes; 0 < cut < n where n > 1. It is near the
 * middle, after a comma, semicolon or colon; else after white space; else between two characters.
 */
size_t tsri_task_sentence_middle(const char *text, size_t n);

#endif
