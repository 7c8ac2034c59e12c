/* tests/task/fixture.h - a tiny instruction model in a folder of its own: the golden llama with a
 * tokenizer of single characters. */
#ifndef TESTS_TASK_FIXTURE_H
#define TESTS_TASK_FIXTURE_H

#include "tessera/device.h"
#include "tessera/generate.h"
#include "tessera/tokenizer.h"

#include <criterion/criterion.h>
#include <jansson.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { IM_START = 3, IM_END = 4, MOST_IDS = 1024, MOST_TEXT = 8192 };

extern char chat_folder[]; /* made by make_chat_folder, removed by remove_chat_folder */
void make_chat_folder(void);
void remove_chat_folder(void);
void write_chat_file(const char *name, const char *text);

/* Reads a JSON file of a folder; fails the test where it can't. */
json_t *read_json(const char *folder, const char *name);

/* Makes a folder with a model's files, but this value in all of an array of f32. */
void make_damaged_folder(const char *from, const char *array, float value, char folder[64]);

extern tsr_engine *engine;
extern tsr_device *device;
/* Makes that folder, and opens its model on the reference backend. */
void open_chat_model(tsr_model **model);
void close_chat_model(tsr_model **model);
void open_reference(void);
void close_reference(void);

/* What a callback collects. cancel_after > 0: it cancels after so many tokens. */
typedef struct collected {
    int32_t ids[MOST_IDS];
    size_t n, size;
    char text[MOST_TEXT];
    uint32_t finish;
    size_t cancel_after;
    size_t broken; /* calls whose text was not valid UTF-8 by itself */
} collected;
int collect(void *data, const tsr_generated *generated);

/* One hypothesis of a search. */
enum { MOST_STEPS = 64 };
typedef struct hypothesis {
    int32_t ids[MOST_STEPS];
    size_t n;
    float score;
    bool finished;
} hypothesis;
/* Adds what a search tells of this hypothesis. */
void hypothesis_add(hypothesis *one, const tsr_generated *generated);
/* Whether |score - wanted| <= 1e-4 + 5e-5 |wanted|, the golden sets' bound for beam scores. */
bool hypothesis_scores(const hypothesis *one, const json_t *wanted);

#endif
