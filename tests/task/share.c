/* How many tokens of prompts a step takes in beside the tokens of answers. */
#include "task/generate/batch_parts.h"

#include <criterion/criterion.h>

enum { MOST_MEMBERS = 32, MS = 1000000 };

/* The room of a step with so many members that are answered, and that wait for their prompts. answer_ms: how long
 * the answers' tokens took; prompt_us: a prompt's token; 0: neither is known. */
static int64_t room(int64_t step_tokens, uint32_t answered, uint32_t reading, double answer_ms,
                    double prompt_us) {
    static tsri_task_sequence sequences[MOST_MEMBERS];
    static tsri_task_member members[MOST_MEMBERS], *all[MOST_MEMBERS];
    tsri_task_batch batch = {.options = {.slots = MOST_MEMBERS, .step_tokens = step_tokens},
                             .members = all,
                             .n = answered + reading,
                             .answer_ns = answer_ms * MS,
                             .prompt_ns = prompt_us * 1000};
    for (uint32_t i = 0; i < batch.n; i++) {
        sequences[i] = (tsri_task_sequence){.ids = {.count = 100}, .past = i < answered ? 99 : 0};
        members[i] = (tsri_task_member){.sequence = &sequences[i]};
        all[i] = &members[i];
    }
    return tsri_task_batch_room(&batch);
}

Test(share, prompts_take_as_long_as_answers) {
    static const struct {
        uint32_t answered, reading;
        double answer_ms, prompt_us;
        int64_t wanted;
    } cases[] = {
        {0, 1, 40, 100, 512},   /* nobody waits for a token */
        {31, 1, 0, 0, 64},      /* nothing was measured yet */
        {31, 1, 40, 0, 64},     /* nor a prompt */
        {31, 1, 0, 400, 64},    /* nor an answer */
        {31, 1, 40, 400, 100},  /* as long as the answers */
        {31, 1, 10, 400, 64},   /* fewer tokens don't pay */
        {31, 1, 400, 400, 512}, /* a device that reads fast */
        {24, 8, 40, 400, 100},  /* up to one waits for 3 that are answered */
        {23, 8, 40, 400, 512},  /* many wait for their prompts */
        {1, 1, 10, 400, 512},   /* so does every second one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t got = room(TSRI_TASK_STEP_SHARED, cases[i].answered, cases[i].reading,
                                 cases[i].answer_ms, cases[i].prompt_us);
        cr_expect(got == cases[i].wanted, "%zu: %lld tokens, wanted %lld", i, (long long)got,
                  (long long)cases[i].wanted);
    }
}

Test(share, a_number_that_is_given_is_taken) {
    cr_expect(room(16, 31, 1, 400, 1) == 16);
    cr_expect(room(4096, 31, 1, 1, 1000) == 4096);
    cr_expect(room(0, 31, 1, 1, 1000) == INT64_MAX);
}

Test(share, what_is_measured_moves_slowly) {
    tsri_task_batch batch = {.n_rows = 0};
    tsri_task_batch_note_answers(&batch, 1);
    tsri_task_batch_note_prompts(&batch, 1, 31);
    cr_expect(batch.answer_ns == 0 && batch.prompt_ns == 0,
              "nothing decoded, and the end of a prompt");
    batch.n_rows = 1;
    batch.answer_ns = 4e18; /* more than any clock shows */
    tsri_task_batch_note_answers(&batch, 1);
    cr_expect(batch.answer_ns > 3e18 && batch.answer_ns < 4e18, "%g", batch.answer_ns);
    tsri_task_batch_note_prompts(&batch, 1, 1000);
    cr_expect(batch.prompt_ns > 0);
}
