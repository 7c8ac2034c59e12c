/* task/generate/templates.h - how instruction models want their turns written: rows of text, no
 * template language.
 *
 * A model's files hold a Jinja text. It is not run: its SHA-256 is looked up among those of
 * published texts (template_texts.def), each of which was checked to give what its row gives. Three
 * things differ, on purpose:
 *   - a text that refuses the system role, or leaves it out (Gemma, early Mistral and Phi-3), gets
 * it the way its family does: before the first user's words, or as a turn
 *   - a text that moves the system's words to the last user turn (Mistral v3) would change turns
 * that are in the key/value memory already: they stay in the first
 *   - an answer stays as the model gave it; texts that trim earlier answers would do so */
#ifndef TSRI_TASK_GENERATE_TEMPLATES_H
#define TSRI_TASK_GENERATE_TEMPLATES_H

#include "base/bytes.h"

#include <stdbool.h>

/* Everywhere "{bos}" and "{eos}" stand for the tokenizer's tokens and "{date}" for today's. */
typedef struct tsri_task_template {
    const char *name;  /* several rows share one; the first of a name is its plain form */
    const char *start; /* of the conversation */
    const char *before_system, *after_system;
    const char *default_system; /* where none is given; NULL: then there is no system turn */
    const char *before_user, *after_user;
    const char *before_assistant, *after_assistant;
    const char *end;             /* the token that ends an answer */
    bool system_in_user;         /* the system's words stand in the first user turn */
    bool trim_system, trim_user; /* white space around what is said is left out */
} tsri_task_template;

/* NULL for a name that is none, and past the last. */
const tsri_task_template *tsri_task_template_named(const char *name);
const char *tsri_task_template_name(size_t i);
/* "chatml, llama2, ..." for sentences. */
const char *tsri_task_template_list(void);
/* The row of a published text; line ends count as \n, and one at the very end does not count. *out
 * is NULL for any other text. */
tsr_status tsri_task_template_of_text(const char *text, size_t n, const tsri_task_template **out);

/* One turn to be written: what follows the text so far, up to where the answer begins. */
typedef struct tsri_task_turn {
    bool first;         /* of the conversation; else the end of the last answer comes before it */
    const char *system; /* of the first turn; NULL or "": the default */
    const char *user;
    size_t user_size;
    const char *bos, *eos, *date; /* "" where there is none */
} tsri_task_turn;

typedef struct tsri_task_range {
    size_t start, end;
} tsri_task_range;

/* All zero is an empty one. */
typedef struct tsri_task_written {
    tsri_bytes text;
    tsri_task_range said[2]; /* where the system's and the user's words stand: no special token may
                                come of them */
    size_t n_said;
} tsri_task_written;

/* Appends the turn to an empty `out`, which the caller clears. */
tsr_status tsri_task_template_write(const tsri_task_template *row, const tsri_task_turn *turn,
                                    tsri_task_written *out);

#endif
