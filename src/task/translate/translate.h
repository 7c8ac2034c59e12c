/* task/translate/translate.h - the lines that are translated together: they are read, cut into
 * parts, searched, and given in order. */
#ifndef TSRI_TASK_TRANSLATE_TRANSLATE_H
#define TSRI_TASK_TRANSLATE_TRANSLATE_H

#include "task/generate/beams.h"
#include "tessera/translate.h"
#include "text/tokenizer/languages.h"

/* What all lines of a run share. */
typedef struct tsri_task_translation {
    tsri_model *model;
    const tsr_generate_options *search;
    const tsr_translate_options *options;
    tsri_task_token_rules rules;
    tsri_text_direction direction;
    tsri_text_ids prompt; /* first tokens of the decoder */
    size_t start;         /* how many of them are not text; the others are the target prefix */
    uint32_t n_best;
    int64_t limit;  /* the most source tokens of a part */
    uint64_t lines; /* lines read in all */
    uint64_t tokens_read, tokens_done;
    tsr_translate_stats stats;
} tsri_task_translation;

typedef struct tsri_task_made { /* one translation of a part */
    size_t at, size;            /* in the window's text */
    double score;
} tsri_task_made;

typedef struct tsri_task_part {
    tsri_task_text text;
    size_t at;       /* where its ids begin in the window's ids */
    size_t gap_size; /* bytes of white space after it */
    size_t gap;      /* where these begin in the window's gaps */
    int32_t found;   /* translations found */
} tsri_task_part;

typedef struct tsri_task_line {
    size_t part, parts; /* its first part, and how many it has */
    tsr_status status;
    char *error; /* message; NULL: none */
} tsri_task_line;

/* A window of lines. All zero: empty. It keeps its memory for the next lines. */
typedef struct tsri_task_lines {
    tsri_text_ids ids;
    tsri_bytes gaps, text, joined;
    tsri_task_line *lines;
    tsri_task_part *parts, **order;
    tsri_task_made *made; /* [parts, n_best] */
    size_t n_lines, n_parts, lines_room, parts_room, order_room, made_room;
} tsri_task_lines;

/* Checks that the model has the languages; sets prompt, start and the forced first token. */
tsr_status tsri_task_translation_begin(tsri_task_translation *t);
/* Appends the ids of a text that the encoder reads. */
tsr_status tsri_task_encode_source(const tsri_task_translation *t, const char *text, size_t n,
                                   tsri_text_ids *out);
/* Appends the text of the decoder's output. */
tsr_status tsri_task_decode_target(const tsri_task_translation *t, const int32_t *ids, size_t n,
                                   tsri_bytes *out);

/* Adds a line. A line that can't be translated is added with its status and message; a status that
 * this function returns is a failure of the run. */
tsr_status tsri_task_lines_add(tsri_task_lines *lines, tsri_task_translation *t, const char *text,
                               size_t n);
/* Prepares the parts; sorts `order` by length, the longest first. */
tsr_status tsri_task_lines_sort(tsri_task_lines *lines, const tsri_task_translation *t);
/* Keeps the translations found for a part. */
tsr_status tsri_task_lines_keep(tsri_task_lines *lines, tsri_task_translation *t,
                                tsri_task_part *part, const tsri_task_beam *beam);
/* Gives all lines, in order. */
tsr_status tsri_task_lines_give(tsri_task_lines *lines, tsri_task_translation *t,
                                tsr_translated_fn translated, void *data);
void tsri_task_lines_empty(tsri_task_lines *lines);
void tsri_task_lines_clear(tsri_task_lines *lines);

#endif
