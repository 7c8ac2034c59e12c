/* cli/serve/call_form.h - how a model writes calls of functions, which its chat template tells: a call is
 *
 *     before NAME between ARGUMENTS (next NAME between ARGUMENTS)* after
 *
 * as <tool_call>\n{"name": "NAME", "arguments": ARGUMENTS}\n</tool_call> is. */
#ifndef TESSERA_CLI_SERVE_CALL_FORM_H
#define TESSERA_CLI_SERVE_CALL_FORM_H

#include "cli/serve/server.h"

/* In the texts, TSRI_SERVE_CALL_ID stands for the number that some forms give a call: as many letters and digits. */
#define TSRI_SERVE_CALL_ID "zqCallId1"
enum { TSRI_SERVE_CALL_ID_SIZE = sizeof TSRI_SERVE_CALL_ID - 1, TSRI_SERVE_CALL_MARKER = 64 };

typedef struct tsri_serve_call_form {
    /* own, with marks (marks.h) in place of special tokens; next NULL: an answer has one call */
    char *before, *between, *next, *after;
    /* own: special tokens that stand around an answer without calls, not in calls; "": none */
    char *text_before, *text_after;
    size_t marker; /* bytes of `before` that show that a call begins; 1 to TSRI_SERVE_CALL_MARKER */
    bool
        anywhere; /* the marker counts wherever it stands; else only at the beginning of an answer */
    /* What the template reads beside calls: */
    bool text_arguments; /* their arguments as texts, not as objects */
    bool no_content;     /* null where there is no content, not an empty text */
    /* Special tokens stand where they can't be told from an ordinary answer's, so an answer has to be calls; of `before`,
     * and this is the plain form. */
    bool only_calls;
} tsri_serve_call_form;

static inline bool tsri_serve_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The form of a model, which is found when it is asked for first. Where the template writes no calls, or not in
 * this form, it is the plain
 * {"name": "NAME", "arguments": ARGUMENTS}. NULL: out of memory. */
const tsri_serve_call_form *tsri_serve_call_form_of(tsri_serve_model *model);
/* Whether calls have this mark, which ends with a 0 byte. */
bool tsri_serve_call_form_has(const tsri_serve_call_form *form, const char *mark);
void tsri_serve_call_form_free(tsri_serve_call_form *form);

#endif
