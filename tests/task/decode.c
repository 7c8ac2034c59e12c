/* The text of a continuation: stop texts, complete characters, end tokens and limits. */
#include "support/folder.h"
#include "task/fixture.h"
#include "tessera/scheduler.h"
#include "tessera/session.h"

#include <string.h>

static tsr_model *model;
static tsr_generate_options options = {.struct_size = sizeof options};

static void set_up(void) {
    open_reference();
    OK(tsr_model_open(TESSERA_SOURCE_DIR "/models/shakespeare", device, NULL, &model));
    OK(tsr_generate_defaults(model, &options));
    options.seed = 3;
    options.max_new_tokens = 24;
}

static void tear_down(void) {
    tsr_model_close(&model);
    close_reference();
}

TestSuite(decode, .init = set_up, .fini = tear_down);

static collected go_on(void) {
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "ROMEO:\n", .text_size = 7};
    const tsr_prompt *const prompts[] = {&prompt};
    collected got = {0};
    OK(tsr_generate(model, prompts, 1, &options, collect, &got, NULL));
    return got;
}

Test(decode, stop_texts) {
    const collected whole = go_on();
    cr_assert(whole.n == 24 && whole.size > 30 && whole.finish == TSR_FINISH_LENGTH);
    /* Uses pieces of three bytes of the text as stop texts: exactly the text before the piece's
     * first occurrence is given. */
    for (size_t i = 1; i + 3 < whole.size; i += 4) {
        char stop[4] = {whole.text[i], whole.text[i + 1], whole.text[i + 2], 0};
        const char *const stops[] = {"never said", stop};
        options.stop = stops;
        options.n_stop = 2;
        const collected cut = go_on();
        const size_t at = (size_t)(strstr(whole.text, stop) - whole.text);
        cr_expect(cut.finish == TSR_FINISH_STOP);
        cr_expect(cut.size == at && memcmp(cut.text, whole.text, at) == 0,
                  "stop \"%s\": \"%s\", wanted %zu bytes", stop, cut.text, at);
    }
}

Test(decode, undecided_text_is_given_at_the_end) {
    const collected whole = go_on();
    char stop[40];
    const size_t n = 12;
    /* The text ends with the beginning of a stop text, which is never completed. */
    memcpy(stop, whole.text + whole.size - n, n);
    strcpy(stop + n, "~~~");
    const char *const stops[] = {stop};
    options.stop = stops;
    options.n_stop = 1;
    const collected same = go_on();
    cr_expect(same.finish == TSR_FINISH_LENGTH && strcmp(same.text, whole.text) == 0);
}

Test(decode, whole_characters) {
    /* At a high temperature, byte tokens form all kinds of broken and complete sequences. */
    int32_t all[MOST_IDS];
    int32_t *prompt = NULL;
    size_t n = 0, size = 0;
    char *text = NULL;
    options.temperature = 1000;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    options.ignore_eos = 1;
    options.max_new_tokens = 150;
    const collected got = go_on();
    cr_expect(got.n == 150 && got.broken == 0);
    OK(tsr_encode(model, "ROMEO:\n", 7, TSR_ENCODE_ADD_SPECIAL, &prompt, &n));
    memcpy(all, prompt, n * sizeof *prompt);
    memcpy(all + n, got.ids, got.n * sizeof *got.ids);
    OK(tsr_decode(model, all, n + got.n, 1, &text, &size));
    cr_expect(size == got.size + 7 && memcmp(text + 7, got.text, got.size) == 0);
    cr_expect(strstr(got.text, "\xEF\xBF\xBD")); /* some were broken */
    tsr_text_free(text);
    tsr_ids_free(prompt);
}

Test(decode, limits) {
    options.max_new_tokens = 0;
    collected got = go_on();
    cr_expect(got.n == 0 && got.size == 0 && got.finish == TSR_FINISH_LENGTH);
    options.max_new_tokens = -1;
    options.context = 20;
    got = go_on();
    cr_expect(got.finish == TSR_FINISH_CONTEXT && got.n > 0 && got.n < 20);
    const char *const stops[] = {""};
    collected none = {0};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "x", .text_size = 1};
    const tsr_prompt *const prompts[] = {&prompt};
    options.stop = stops;
    options.n_stop = 1;
    cr_expect(tsr_generate(model, prompts, 1, &options, collect, &none, NULL) == TSR_E_ARGUMENT);
}

/* Log-probabilities are only known where the host draws. */
Test(decode, the_device_draws_as_the_host_does) {
    static const struct {
        float temperature, top_p, min_p;
        int32_t top_k;
    } rows[] = {{0.8f, 0.9f, 0, 40}, {1.5f, 1, 0.05f, 256}, {1e30f, 1, 0, 7}, {1e-30f, 1, 0, 9},
                {4, 1e-30f, 0, 40},  {1, 1, 1, 40},         {1, 1, 0, 1},     {3, 0.5f, 0, 2}};
    options.max_new_tokens = 6;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.seed = i;
        options.temperature = rows[i].temperature;
        options.top_p = rows[i].top_p;
        options.min_p = rows[i].min_p;
        options.top_k = rows[i].top_k;
        options.return_logprob = 0;
        const collected there = go_on();
        options.return_logprob = 1;
        const collected here = go_on();
        cr_expect(there.n == here.n && there.n > 0 &&
                      !memcmp(there.ids, here.ids, here.n * sizeof *here.ids),
                  "row %zu", i);
    }
}

/* ---- logits that are no numbers (a file that holds such numbers is not opened) ---- */

enum { KINDS = 4 };

/* Greedy decoding, by the device and with log-probabilities; draws by the device, and of whole rows. */
static tsr_generate_options options_of(int kind, const tsr_model *broken) {
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(broken, &o));
    o.max_new_tokens = 4;
    o.temperature = kind < 2 ? 0 : 0.8f;
    o.return_logprob = kind == 1;
    o.top_k = kind == 3 ? 0 : 40;
    return o;
}

static const int32_t few[] = {5, 6, 7};
static const tsr_prompt few_ids = {.struct_size = sizeof few_ids, .ids = few, .n_ids = 3};

static int note_end(void *data, const tsr_scheduler_event *e) {
    uint32_t *ends = data;
    cr_expect(!e->generated, "request %d got a token", (int)e->request);
    ends[e->request] = e->status;
    return 0;
}

/* A greedy request beside one of another kind. */
static void expect_both_fail(tsr_model *broken, int kind) {
    const tsr_scheduler_options sizes = {.struct_size = sizeof sizes, .slots = 2, .context = 32};
    tsr_scheduler_counts c = {.struct_size = sizeof c, .running = 2};
    uint32_t ends[3] = {0};
    tsr_scheduler *s = NULL;
    OK(tsr_scheduler_create(broken, &sizes, &s));
    for (int i = 0; i < 2; i++) {
        const tsr_generate_options o = options_of(i ? kind : 0, broken);
        const tsr_request request = {
            .struct_size = sizeof request, .prompt = &few_ids, .options = &o};
        uint64_t id = 0;
        OK(tsr_scheduler_add(s, &request, &id));
    }
    for (int steps = 0; c.running + c.waiting && steps < 20; steps++) {
        OK(tsr_scheduler_step(s, note_end, ends));
        OK(tsr_scheduler_count(s, &c));
    }
    cr_expect(ends[1] == TSR_E_DEVICE && ends[2] == TSR_E_DEVICE, "kind %d: %u, %u", kind, ends[1],
              ends[2]);
    tsr_scheduler_destroy(&s);
}

static void expect_session_fails(tsr_model *broken) {
    const tsr_session_options sizes = {.struct_size = sizeof sizes, .sequences = 1, .context = 32};
    tsr_session *session = NULL;
    int32_t next[2];
    OK(tsr_session_create(broken, &sizes, &session));
    OK(tsr_session_prefill(session, 0, few, 2, NULL, NULL));
    cr_expect_eq(tsr_session_prefill(session, 0, few, 1, NULL, next), TSR_E_DEVICE);
    cr_expect_eq(tsr_session_greedy(session, few, 2, next), TSR_E_DEVICE);
    cr_expect_eq(tsr_session_length(session, 0), 4);
    tsr_session_destroy(&session);
}

Test(damaged, logits_that_are_no_numbers_give_no_token) {
    static const float values[] = {3e38f, -3e38f}; /* they overflow */
    static const tsr_prompt *const prompts[] = {&few_ids};
    open_reference();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char folder[64];
        tsr_model *broken = NULL;
        make_damaged_folder(TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny",
                            "model.norm.weight", values[i], folder);
        OK(tsr_model_open(folder, device, NULL, &broken));
        for (int kind = 0; kind < KINDS; kind++) {
            const tsr_generate_options o = options_of(kind, broken);
            collected got = {0};
            cr_expect(tsr_generate(broken, prompts, 1, &o, collect, &got, NULL) == TSR_E_DEVICE &&
                          !got.n && strstr(tsr_error_last(), "are not numbers"),
                      "%g, kind %d: %zu tokens", (double)values[i], kind, got.n);
            expect_both_fail(broken, kind);
        }
        expect_session_fails(broken);
        tsr_model_close(&broken);
        folder_drop(folder);
    }
    close_reference();
}
