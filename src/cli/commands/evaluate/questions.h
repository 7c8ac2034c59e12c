/* cli/commands/evaluate/questions.h - questions with texts and right answers, from a file in one of
 * SQuAD's forms. */
#ifndef TESSERA_CLI_COMMANDS_EVALUATE_QUESTIONS_H
#define TESSERA_CLI_COMMANDS_EVALUATE_QUESTIONS_H

#include "cli/reading/texts.h"

typedef struct tsri_cli_questions {
    tsri_cli_texts asked;   /* a question and its text: tsri_cli_question_parts */
    tsri_cli_texts answers; /* the right ones of all questions, one behind the other */
    uint32_t *counts;       /* [asked.n] how many each has */
    size_t room;
} tsri_cli_questions;

typedef struct tsri_cli_question {
    tsr_string question, text;
    bool unanswerable; /* some question of the file has no answer, so this one may have none */
} tsri_cli_question;

/* Reads JSON lines, each with "question", "context" and "answers"; or one JSON object whose "data" lists
 * such objects, or articles with paragraphs as SQuAD is published. "answers" is a list of texts or of
 * objects with a "text", or an object whose "text" is such a list. Returns an exit code, and prints what
 * went wrong. */
int tsri_cli_questions_read(tsri_cli_app *app, const char *path, const char *encoding,
                            tsri_cli_questions *out);
/* The parts of one of asked's items, which they point into. */
void tsri_cli_question_parts(const tsr_string *asked, tsri_cli_question *out);
void tsri_cli_questions_clear(tsri_cli_questions *questions);

#endif
