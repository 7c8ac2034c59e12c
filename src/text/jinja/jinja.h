/* text/jinja/jinja.h - chat templates: the part of Jinja that they use, as transformers sets it up
 * (trim_blocks, lstrip_blocks, break and continue, an immutable sandbox, generation blocks).
 *
 * Text is UTF-8; lengths and slices count code points. A template can read only its context; it
 * can't open files, and steps, memory and depth have limits, so that every render ends. */
#ifndef TSRI_TEXT_JINJA_JINJA_H
#define TSRI_TEXT_JINJA_JINJA_H

#include "base/bytes.h"
#include "base/json.h"

#include <time.h>

enum {
    TSRI_JINJA_DEPTH = 150,       /* nested expressions, blocks, calls and values */
    TSRI_JINJA_CHAIN = 500,       /* nested operands: each waits for the one before it */
    TSRI_JINJA_STEPS = 1 << 23,   /* nodes evaluated in one render */
    TSRI_JINJA_MEMORY = 64 << 20, /* bytes of values that one render makes */
    TSRI_JINJA_TEXT = 4 << 20     /* bytes of a template */
};

typedef struct tsri_jinja tsri_jinja;

/* error  TSR_E_FORMAT       the template is not Jinja; the sentence names the line
 *        TSR_E_UNSUPPORTED  a tag that chat templates don't use (include, import, extends) */
tsr_status tsri_jinja_parse(const char *text, size_t n, tsri_jinja **out);
void tsri_jinja_destroy(tsri_jinja **t);

/* Appends the text, and to `said` one byte for each byte of it: 1 where it came from the words of
 * the context, 0 where the template wrote it. Every text inside a list or an object of `context`
 * counts as words, except the usual values of "role"; a text directly in `context` (bos_token) does
 * not. Special tokens may be read only where `said` is 0.
 *
 * context  an object
 * words    an object whose members are variables, too, and whose texts all count as words; NULL: none
 * now      what strftime_now prints, in local time; 0: the clock
 * error    TSR_E_ARGUMENT     the template called raise_exception; the sentence is its own
 *          TSR_E_FORMAT       an error while rendering; the sentence names the line
 *          TSR_E_UNSUPPORTED  a filter, test or method that is not served, or a limit was reached */
tsr_status tsri_jinja_render(const tsri_jinja *t, const json_t *context, const json_t *words,
                             time_t now, tsri_bytes *text, tsri_bytes *said);

#endif
