/* Memory is flat in a process that goes on: a million generated tokens, and what is opened and
 * closed again and again; a tenth of it without ci/test --all.
 * tests/cli/faults/long.py has the commands. */
#include "base/memory.h"
#include "base/system/system.h"
#include "support/cases.h"
#include "tessera/generate.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
#define GOLDEN TESSERA_SOURCE_DIR "/tests/golden/models/"

enum { PROMPTS = 32, ENGINES = 90, SLACK = 128 << 10, PAGES = 2 << 20, KINDS = 16 };

#if defined(__SANITIZE_ADDRESS__) /* what is freed is held back; the leak checker tells of the \
                                     rest */
enum { PART = 100, EXACT = 0 };
#else
enum { PART = 1, EXACT = 1 };
#endif

static int64_t share(int64_t whole) {
    return whole / PART / (cases_wanted() != TEST_ALL && PART == 1 ? 10 : 1);
}

/* Bytes that are allocated, and pages that the process has. */
typedef struct held {
    int64_t heap, pages;
} held;

static held now(void) {
    const struct mallinfo2 info = mallinfo2();
    return (held){.heap = (int64_t)(info.uordblks + info.hblkhd),
                  .pages = (int64_t)tsri_system_resident()};
}

static void add(held *most, held h) {
    most->heap = h.heap > most->heap ? h.heap : most->heap;
    most->pages = h.pages > most->pages ? h.pages : most->pages;
}

static void expect_flat(const char *what, held early, held late) {
    if (!EXACT)
        return;
    cr_expect_leq(late.heap, early.heap + SLACK, "%s: %lld bytes were allocated, and are now %lld",
                  what, (long long)early.heap, (long long)late.heap);
    cr_expect_leq(late.pages, early.pages + PAGES, "%s: %lld bytes were resident, and are now %lld",
                  what, (long long)early.pages, (long long)late.pages);
}

typedef struct subject {
    tsr_engine *engine;
    tsr_device *device;
    tsr_model *model;
} subject;

static void begin(subject *s, const char *folder, const char *device) {
    OK(tsr_engine_create(NULL, &s->engine));
    OK(tsr_device_open(s->engine, device, NULL, &s->device));
    OK(tsr_model_open(folder, s->device, NULL, &s->model));
}

static void end(subject *s) {
    tsr_model_close(&s->model);
    tsr_device_close(&s->device);
    tsr_engine_destroy(&s->engine);
}

static int take(void *data, const tsr_generated *generated) {
    *(int64_t *)data += generated->id >= 0;
    return 0;
}

/* Of prompts of several lengths, so that sequences leave a batch at several times; every kind of
 * choice in turn. */
static int64_t generate(tsr_model *model, uint64_t round) {
    static const int32_t ids[] = {10, 11, 12, 13, 14, 15, 16, 17};
    tsr_prompt prompts[PROMPTS];
    const tsr_prompt *list[PROMPTS];
    tsr_generate_options options = {.struct_size = sizeof options};
    int64_t made = 0;
    for (uint32_t i = 0; i < PROMPTS; i++) {
        prompts[i] = (tsr_prompt){.struct_size = sizeof *prompts, .ids = ids, .n_ids = 1 + i % 8};
        list[i] = &prompts[i];
    }
    OK(tsr_generate_defaults(model, &options));
    options.seed = round;
    options.ignore_eos = 1;
    options.temperature = round % 3 ? 0.8f : 0;
    options.repeat_penalty = round % 2 ? 1.1f : 1;
    options.num_beams = round % KINDS ? 1 : 2;
    options.logprobs = options.num_beams > 1 || round % 5 ? 0 : 3;
    OK(tsr_generate(model, list, options.num_beams > 1 ? 4 : PROMPTS, &options, take, &made, NULL));
    return made;
}

/* The most after any kind of round, when drivers have compiled what they compile at its first use,
 * against that at the end. */
static void generate_many(const char *device, int64_t warm, int64_t rounds) {
    const int64_t all = warm + rounds;
    subject s = {0};
    held early = {0}, late = {0};
    int64_t made = 0;
    begin(&s, GOLDEN "gpt2-tiny", device);
    for (int64_t round = 0; round < all; round++) {
        made += generate(s.model, (uint64_t)round);
        if (round >= warm - KINDS && round < warm)
            add(&early, now());
        if (round >= all - KINDS)
            add(&late, now());
    }
    /* of a few rounds the one that searches by beams has the most weight */
    cr_assert_geq(made, all * (EXACT ? 1200 : 400), "%lld tokens", (long long)made);
    expect_flat(device ? device : "the device", early, late);
    end(&s);
}

/* 1,300 tokens a round */
Test(long, tokens) {
    generate_many(NULL, EXACT ? 64 : 1, share(720));
}

Test(long, tokens_on_the_reference) {
    generate_many("reference", EXACT ? 32 : 1, share(160));
}

Test(long, models_are_opened_and_closed) {
    const int64_t n = share(ENGINES) > 10 ? share(ENGINES) : 10;
    held early = {0};
    subject s = {0};
    for (int64_t i = 0; i < n; i++) {
        begin(&s, GOLDEN "gpt2-tiny", i % 2 ? "reference" : NULL);
        (void)generate(s.model, (uint64_t)i);
        end(&s);
        if (i > n / 3 && i <= n / 3 + 3)
            add(&early, now());
    }
    expect_flat("opened and closed", early, now());
}
