/* task/texts/answers.h - the answers that windows of a text give to a question. */
#ifndef TSRI_TASK_TEXTS_ANSWERS_H
#define TSRI_TASK_TEXTS_ANSWERS_H

#include "task/texts/offsets.h"
#include "task/texts/passages.h"
#include "tessera/answer.h"

/* A window of a text, which is one passage: its context tokens begin at `begin` of the passage, and are
 * tokens `first` .. first + n - 1 of the text. */
typedef struct tsri_task_window_of {
    size_t passage, begin, first, n;
    bool null; /* the passage's first token says that there is no answer */
} tsri_task_window_of;

/* How answers are chosen. */
typedef struct tsri_task_choice {
    uint32_t top_k, longest;
    bool no_answer;
} tsri_task_choice;

/* An answer while it is looked for: `text` is its text in lower case, owned. */
typedef struct tsri_task_found {
    tsr_answer_span answer;
    char *text;
    size_t size;
} tsri_task_found;

typedef struct tsri_task_answers {
    tsri_task_found *items;
    size_t n, room;
    double null;             /* the least probability, of all windows, that there is no answer */
    void *candidates, *odds; /* scratch */
    size_t candidates_room, odds_room;
} tsri_task_answers;

/* Says of each of a text's n tokens whether it continues a word. `words` has the number of each token's word;
 * if all have the same, words are what blanks separate. */
void tsri_task_mark_words(const char *text, const int32_t *words, tsri_task_offset *places,
                          size_t n);

/* Begins with a new question; then takes the numbers [tokens of the passage, 2] (begin, end) of a window.
 * `places`: of the text's tokens. */
void tsri_task_answers_begin(tsri_task_answers *answers);
tsr_status tsri_task_answers_take(tsri_task_answers *answers, const tsri_task_choice *choice,
                                  const tsri_task_window_of *window, const float *numbers,
                                  const tsr_string *text, const tsri_task_offset *places);
/* Sorts what was found and cuts it to the best; `out` [top_k + 1]. Returns how many there are. */
size_t tsri_task_answers_end(tsri_task_answers *answers, const tsri_task_choice *choice,
                             tsr_answer_span *out);
void tsri_task_answers_clear(tsri_task_answers *answers);

#endif
