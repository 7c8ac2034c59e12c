/* A real llama2.c checkpoint: the greedy continuation of an empty text, as llama2.c itself writes
 * it. */
#include "model/fixture.h"

#include "base/files.h"
#include "support/larger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static void tell_story(const char *selector) {
    char *path = larger_path("data/models/stories260k/expected_greedy_200.txt");
    fixture fixture;
    tsri_session *session = NULL;
    tsri_bytes expected = {0}, text = {0};
    int32_t ids[201], next = 1;
    OK(tsri_base_read_whole(path, 1 << 20, &expected));
    free(path);
    path = larger_path("data/models/stories260k/checkpoint_legacy.bin");
    fixture_device(&fixture, selector);
    fixture_model(&fixture, path, NULL);
    free(path);
    cr_assert(fixture.model->tokenizer, "tokenizer.bin was not found");
    OK(tsri_session_create(fixture.model, 1, 0, &session));
    int64_t n = 0;
    while (n < 201) { /* the beginning-of-sequence token, and 200 more */
        const tsri_model_sequence sequence = {.ids = &next, .n = 1, .past = n};
        const tsri_model_results results = {.argmax = &next};
        ids[n++] = next;
        OK(tsri_session_forward(session, &sequence, 1, &results));
    }
    OK(tsri_text_decode(fixture.model->tokenizer, ids, (size_t)n, true, &text));
    size_t length = expected.size;
    while (length && expected.data[length - 1] == '\n')
        length--;
    cr_assert(text.size == length && memcmp(text.data, expected.data, length) == 0,
              "wrote:\n%s\nexpected:\n%s", text.data, expected.data);
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&expected);
    tsri_session_destroy(&session);
    fixture_close(&fixture);
}

LARGER_TEST(stories, reference, "data/models/stories260k") {
    tell_story("reference");
}

LARGER_TEST(stories, device, "data/models/stories260k") {
    tell_story(NULL);
}
