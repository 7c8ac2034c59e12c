/* task/generate/templates.h - the formats in which instruction models want their turns: rows of
 * texts, without a template language.
 *
 * A model's files have a Jinja template. It is not run: its SHA-256 is looked up among those of
 * published templates (template_texts.def), each of which was checked to give what its row gives.
 * Three things differ on purpose:
 *   - Some templates refuse the system role or leave it out (Gemma, early Mistral and Phi-3). Here
 *     the system's words are written as their family writes them: before the first user's words, or
 *     as a turn.
 *   - Some templates move the system's words to the last user turn (Mistral v3), which would change
 *     turns that are in the key/value memory already. Here they stay in the first turn.
 *   - Some templates trim earlier answers. Here an answer stays as the model gave it. */
#ifndef TSRI_TASK_GENERATE_TEMPLATES_H
#define TSRI_TASK_GENERATE_TEMPLATES_H

#include "base/bytes.h"

#include <stdbool.h>

/* In all texts, "{bos}" and "{eos}" stand for the tokenizer's tokens, and "{date}" for today. */
typedef struct tsri_task_template {
    const char *name;  /* several rows may share one; the first with a name is its plain form */
    const char *start; /* beginning of the conversation */
    const char *before_system, *after_system;
    const char *default_system; /* used where none is given; NULL: then there is no system turn */
    const char *before_user, *after_user;
    const char *before_assistant, *after_assistant;
    const char *end;             /* the token that ends an answer */
    bool system_in_user;         /* the system's words are part of the first user turn */
    bool trim_system, trim_user; /* drop white space around the words */
} tsri_task_template;

/* The first row with this name; NULL: there is none. */
const tsri_task_template *tsri_task_template_named(const char *name);
const char *tsri_task_template_name(size_t i);
/* "chatml, llama2, ...", for messages. */
const char *tsri_task_template_list(void);
/* Finds the row of a published text. All line ends are read as \n, and one at the very end is
 * ignored. *out is NULL for any other text. */
tsr_status tsri_task_template_of_text(const char *text, size_t n, const tsri_task_template **out);

/* One turn to write: everything after the text so far, up to where the answer begins. */
typedef struct tsri_task_turn {
    bool first; /* it begins the conversation; else the end of the last answer precedes it */
    const char *system; /* only read in the first turn; NULL or "": the default */
    const char *user;
    size_t user_size;
    const char *bos, *eos, *date; /* "" where there is none */
} tsri_task_turn;

typedef struct tsri_task_range {
    size_t start, end;
} tsri_task_range;

/* All zero: empty. */
typedef struct tsri_task_written {
    tsri_bytes text;
    tsri_task_range said[2]; /* where the system's and the user's words are: these must not give
                                special tokens */
    size_t n_said;
} tsri_task_written;

/* Appends the turn to an empty `out`, which the caller clears. */
tsr_status tsri_task_template_write(const tsri_task_template *row, const tsri_task_turn *turn,
                                    tsri_task_written *out);

#endif
