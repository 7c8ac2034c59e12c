/* Requests that share a model: each gets, to the byte, what it gets alone, whatever runs beside it and
 * whenever it came. */
#include "tessera/scheduler.h"

#include "tessera/evaluate.h"

#include "task/fixture.h"

#include <string.h>

static tsr_model *model;

static void set_up(void) {
    open_chat_model(&model);
}

static void tear_down(void) {
    close_chat_model(&model);
}

TestSuite(scheduler, .init = set_up, .fini = tear_down);

enum { KINDS = 10, MOST_REQUESTS = 32, MOST_BYTES = 8192 };

/* All that a request got, as bytes: ids, log-probabilities, candidates, texts and the finish. */
typedef struct record {
    unsigned char bytes[MOST_BYTES];
    size_t size, tokens, prompt_tokens;
    double prompt_sum; /* of the log-probabilities of its tokens */
    uint32_t finish, cached, status;
    char error[256];
} record;

typedef struct records {
    record of[MOST_REQUESTS + 1]; /* by number, from 1 */
    uint64_t cancel;              /* the callback cancels this one at its second token */
} records;

static void put(record *r, const void *bytes, size_t n) {
    cr_assert(r->size + n <= sizeof r->bytes);
    if (n)
        memcpy(r->bytes + r->size, bytes, n);
    r->size += n;
}

static int take(void *data, const tsr_scheduler_event *e) {
    records *all = data;
    record *r = &all->of[e->request];
    const tsr_generated *g = e->generated;
    cr_assert(!r->finish && !r->status, "request %d goes on after its end", (int)e->request);
    r->status = e->status;
    r->cached = e->cached_tokens;
    snprintf(r->error, sizeof r->error, "%s", e->error);
    if (!g)
        return 0;
    put(r, &g->id, sizeof g->id);
    put(r, &g->logprob, sizeof g->logprob);
    for (uint32_t i = 0; i < g->n_candidates; i++) {
        put(r, &g->candidates[i].id, sizeof g->candidates[i].id);
        put(r, &g->candidates[i].logprob, sizeof g->candidates[i].logprob);
    }
    put(r, g->text, g->text_size);
    r->tokens += g->id >= 0 && !e->of_prompt;
    r->prompt_tokens += e->of_prompt;
    r->prompt_sum += e->of_prompt ? (double)g->logprob : 0;
    r->finish = g->finish;
    return all->cancel == e->request && r->tokens == 2;
}

static int64_t more; /* new tokens of each request */

/* Request i: a prompt of its own length, and one of several ways to choose tokens. */
static uint64_t add(tsr_scheduler *s, uint32_t i) {
    static const char words[] = "the quick brown fox jumps over the lazy dog and is not seen again "
                                "in the wood where it lives with two small foxes and one old bear";
    static const char *const stops[] = {"e", "qz"};
    static const tsr_logit_bias biases[] = {{9, 2}, {7, -1}};
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.seed = i;
    o.max_new_tokens = 3 + i % 9 + more;
    o.ignore_eos = 1;
    switch (i % KINDS) {
    case 0:
        o.temperature = 0;
        break;
    case 1:
        o.top_k = 0;
        break;
    case 2:
        o.repeat_penalty = 1.5f;
        break;
    case 3:
        o.logprobs = 3;
        break;
    case 4:
        o.stop = stops, o.n_stop = 2;
        break;
    case 5:
        o.no_repeat_ngram = 2;
        break;
    case 6:
        o.presence_penalty = 1, o.frequency_penalty = 0.5f;
        o.logit_bias = biases, o.n_logit_bias = 2;
        break;
    case 9:
        o.grammar = "root ::= [a-f]{2} ([^a-z] | \" \" root)+";
        break;
    case 7:
        o.temperature = 0, o.return_logprob = 1;
        break;
    default:
        o.logprobs = 2;
        break;
    }
    const size_t n = 1 + (i * 37) % (sizeof words - 2);
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = words, .text_size = n};
    const tsr_request request = {.struct_size = sizeof request,
                                 .prompt = &prompt,
                                 .options = &o,
                                 .prompt_logprobs = i % KINDS == 8};
    uint64_t id = 0;
    OK(tsr_scheduler_add(s, &request, &id));
    return id;
}

static tsr_scheduler_counts count(const tsr_scheduler *s) {
    tsr_scheduler_counts c = {.struct_size = sizeof c};
    OK(tsr_scheduler_count(s, &c));
    return c;
}

static void finish_all(tsr_scheduler *s, records *all) {
    for (int steps = 0;; steps++) {
        const tsr_scheduler_counts c = count(s);
        if (!c.running && !c.waiting)
            return;
        cr_assert(steps < 2000, "%u run, %u wait", c.running, c.waiting);
        OK(tsr_scheduler_step(s, take, all));
    }
}

static tsr_scheduler *make_with(uint32_t slots, int64_t step_tokens, uint32_t no_reuse,
                                int64_t kv_tokens) {
    const tsr_scheduler_options o = {.struct_size = sizeof o,
                                     .kv_tokens = kv_tokens,
                                     .slots = slots,
                                     .context = 192,
                                     .step_tokens = step_tokens,
                                     .no_reuse = no_reuse};
    tsr_scheduler *s = NULL;
    OK(tsr_scheduler_create(model, &o, &s));
    return s;
}

static tsr_scheduler *make(uint32_t slots, int64_t step_tokens, uint32_t no_reuse) {
    return make_with(slots, step_tokens, no_reuse, 0);
}

/* What request i gets in a scheduler of its own slot and without anything before it. */
static void run_alone(uint32_t i, record *out) {
    static records all;
    tsr_scheduler *s = make(1, 0, 1);
    memset(&all, 0, sizeof all);
    const uint64_t id = add(s, i);
    finish_all(s, &all);
    *out = all.of[id];
    tsr_scheduler_destroy(&s);
}

static void expect_same(const records *all, uint32_t n, const char *how) {
    static record alone;
    for (uint32_t i = 0; i < n; i++) {
        const record *r = &all->of[i + 1];
        run_alone(i, &alone);
        cr_expect(r->finish && r->size == alone.size && !memcmp(r->bytes, alone.bytes, r->size),
                  "%s: request %u gave %zu tokens in %zu bytes, alone %zu in %zu", how, i,
                  r->tokens, r->size, alone.tokens, alone.size);
    }
}

Test(scheduler, bytes_are_those_of_each_request_alone) {
    static const struct {
        const char *how;
        uint32_t slots;
        int64_t step_tokens;
        uint32_t every; /* requests that come before each step */
    } cases[] = {
        {"all at once", 16, 0, 16}, {"pieces of prompts", 5, 7, 3}, {"one slot", 1, 50, 16}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static records all;
        memset(&all, 0, sizeof all);
        tsr_scheduler *s = make(cases[k].slots, cases[k].step_tokens, 0);
        for (uint32_t i = 0; i < 16; i++) {
            cr_assert(add(s, i) == i + 1);
            if (i % cases[k].every == cases[k].every - 1)
                OK(tsr_scheduler_step(s, take, &all));
        }
        finish_all(s, &all);
        const tsr_scheduler_counts c = count(s);
        cr_expect(c.finished == 16 && !c.failed && !c.cancelled && !c.tokens);
        expect_same(&all, 16, cases[k].how);
        tsr_scheduler_destroy(&s);
    }
}

/* Memory for one context, two at most, of requests that grow by several pages: some are put back, also while
 * their prompts are scored, and none is told of it. */
Test(scheduler, bytes_are_those_of_each_request_alone_after_being_put_back) {
    static const struct {
        uint32_t slots;
        int64_t step_tokens, kv_tokens;
        uint32_t no_reuse;
    } cases[] = {{16, 0, 192, 0}, {8, 7, 224, 0}, {16, 16, 320, 0}, {5, 50, 256, 1}};
    more = 50;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static records all;
        memset(&all, 0, sizeof all);
        tsr_scheduler *s =
            make_with(cases[k].slots, cases[k].step_tokens, cases[k].no_reuse, cases[k].kv_tokens);
        for (uint32_t i = 0; i < 16; i++)
            cr_assert(add(s, i) == i + 1);
        finish_all(s, &all);
        const tsr_scheduler_counts c = count(s);
        cr_expect(c.finished == 16 && !c.failed && !c.cancelled);
        cr_expect(c.kv_tokens == cases[k].kv_tokens && !c.kv_used, "%d of %d", (int)c.kv_used,
                  (int)c.kv_tokens);
        cr_expect(c.put_back > 0, "case %zu: none was put back", k);
        expect_same(&all, 16, "little memory");
        tsr_scheduler_destroy(&s);
    }
    more = 0;
}

/* The newest request is put back while its prompt is scored, a token a step: its tokens are told once. */
Test(scheduler, a_prompt_that_is_scored_is_told_once) {
    static const uint32_t numbers[] = {1, 38}; /* prompts of 39 and 118 tokens */
    static records all;
    static record alone;
    memset(&all, 0, sizeof all);
    more = 60;
    tsr_scheduler *s = make_with(2, 1, 0, 224);
    for (int i = 0; i < 2; i++)
        cr_assert(add(s, numbers[i]) == (uint64_t)i + 1);
    for (int steps = 0; !count(s).put_back; steps++) {
        OK(tsr_scheduler_step(s, take, &all));
        cr_assert(steps < 200);
    }
    const size_t told = all.of[2].prompt_tokens;
    cr_expect(told > 1 && told < 118, "%zu", told);
    finish_all(s, &all);
    for (int i = 0; i < 2; i++) {
        run_alone(numbers[i], &alone);
        cr_expect(all.of[i + 1].size == alone.size &&
                  !memcmp(all.of[i + 1].bytes, alone.bytes, alone.size));
    }
    cr_expect(all.of[2].prompt_tokens == 118);
    tsr_scheduler_destroy(&s);
    more = 0;
}

/* A request that was put back waits, and may be cancelled there; one that waits for pages joins when there
 * are some. */
Test(scheduler, a_request_that_was_put_back_may_be_cancelled) {
    static records all;
    memset(&all, 0, sizeof all);
    more = 60;
    tsr_scheduler *s = make_with(2, 0, 0, 192);
    const uint64_t first = add(s, 3),
                   second = add(s, 1); /* of 113 and 39 tokens, 66 and 64 new ones */
    int steps = 0;
    while (!count(s).put_back && steps++ < 200)
        OK(tsr_scheduler_step(s, take, &all));
    cr_expect(count(s).put_back == 1 && count(s).waiting == 1 && count(s).running == 1);
    const size_t had = all.of[second].tokens;
    OK(tsr_scheduler_cancel(s, second));
    finish_all(s, &all);
    cr_expect(had && all.of[second].tokens == had && !all.of[second].finish);
    cr_expect(all.of[first].finish && count(s).cancelled == 1 && count(s).finished == 1);
    tsr_scheduler_destroy(&s);
    more = 0;
}

/* Memory for fewer tokens than a context: a request has no more of them, and a longer prompt is refused. */
Test(scheduler, no_request_has_more_tokens_than_the_memory_holds) {
    static records all;
    memset(&all, 0, sizeof all);
    more = 300;
    tsr_scheduler *s = make_with(3, 0, 0, 90); /* 3 pages */
    cr_expect(count(s).context == 96 && count(s).kv_tokens == 96);
    const uint64_t id = add(s, 1);
    finish_all(s, &all);
    cr_expect(all.of[id].finish == TSR_FINISH_CONTEXT && all.of[id].tokens == 96 - 39, "%zu",
              all.of[id].tokens);
    static int32_t ids[97];
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = 97};
    const tsr_request request = {.struct_size = sizeof request, .prompt = &prompt};
    uint64_t none;
    cr_expect(tsr_scheduler_add(s, &request, &none) == TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "a prompt of 97 tokens was given; the memory for keys and "
                                       "values holds 96 tokens"),
              "%s", tsr_error_last());
    tsr_scheduler_destroy(&s);
    more = 0;
}

Test(scheduler, ids_are_those_of_generate) {
    static records all;
    collected got = {0};
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.max_new_tokens = 12;
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "hello", .text_size = 5};
    const tsr_prompt *const prompts[] = {&prompt};
    OK(tsr_generate(model, prompts, 1, &o, collect, &got, NULL));
    tsr_scheduler *s = make(3, 2, 0);
    const tsr_request request = {.struct_size = sizeof request, .prompt = &prompt, .options = &o};
    uint64_t id;
    OK(tsr_scheduler_add(s, &request, &id));
    finish_all(s, &all);
    const record *r = &all.of[id];
    cr_assert(r->tokens == got.n && r->finish == got.finish);
    tsr_scheduler_destroy(&s);
}

/* A prompt whose tokens are given, too. */
static record scored(const char *text, int64_t new_tokens, int64_t step_tokens) {
    static records all;
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.max_new_tokens = new_tokens;
    o.temperature = 0;
    o.logprobs = 1;
    o.ignore_eos = 1;
    memset(&all, 0, sizeof all);
    tsr_scheduler *s = make(1, step_tokens, 0);
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = text};
    tsr_request request = {.struct_size = sizeof request, .prompt = &prompt, .options = &o};
    uint64_t id = 0;
    for (uint32_t again = 0; again < 2; again++) { /* the second one's prompt is in pages already */
        request.prompt_logprobs = again;
        OK(tsr_scheduler_add(s, &request, &id));
        finish_all(s, &all);
    }
    cr_expect(all.of[id].cached == 0);
    cr_expect(all.of[1].tokens == all.of[2].tokens && all.of[1].finish == all.of[2].finish);
    cr_expect(
        !memcmp(all.of[1].bytes, all.of[2].bytes + all.of[2].size - all.of[1].size, all.of[1].size),
        "the new tokens are others");
    tsr_scheduler_destroy(&s);
    return all.of[id];
}

Test(scheduler, a_prompt_has_the_likelihood_that_evaluate_finds) {
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    tsr_perplexity found = {.struct_size = sizeof found};
    OK(tsr_evaluate_perplexity(model, text, sizeof text - 1, NULL, &found));
    const record whole = scored(text, 0, 0), pieces = scored(text, 3, 5);
    cr_expect(whole.prompt_tokens == found.tokens + 1 && whole.tokens == 0 && pieces.tokens == 3);
    cr_expect_float_eq(whole.prompt_sum, -found.loss * (double)found.tokens, 1e-4);
    cr_expect(whole.prompt_sum == pieces.prompt_sum && whole.finish == TSR_FINISH_LENGTH);
    const record one = scored("", 0, 0); /* the beginning of a sequence alone */
    cr_expect(one.prompt_tokens == 1 && one.prompt_sum == 0 && one.finish == TSR_FINISH_LENGTH);
}

Test(scheduler, a_prompt_that_begins_alike_goes_on_from_there) {
    static records all;
    tsr_scheduler *s = make(2, 0, 0);
    const uint64_t first = add(s, 3);
    finish_all(s, &all);
    const uint64_t again = add(s, 3);
    finish_all(s, &all);
    const record *a = &all.of[first], *b = &all.of[again];
    cr_expect(a->cached == 0 && b->cached == 3 * 37 + 1, "%u", b->cached); /* all but one token */
    cr_expect(a->size == b->size && !memcmp(a->bytes, b->bytes, a->size));
    cr_expect(count(s).cached_tokens == b->cached);
    tsr_scheduler_destroy(&s);
}

/* The next turn of a conversation: the prompt is all of the last request, and more. */
static record next_turn(uint32_t no_reuse) {
    static records all;
    int32_t ids[24] = {1, 9, 17, 5};
    size_t n = 4;
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.temperature = 0;
    o.max_new_tokens = 8;
    o.ignore_eos = 1;
    memset(&all, 0, sizeof all);
    tsr_scheduler *s = make(2, 0, no_reuse);
    for (uint64_t turn = 1; turn <= 2; turn++) {
        const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = (uint32_t)n};
        const tsr_request request = {
            .struct_size = sizeof request, .prompt = &prompt, .options = &o};
        uint64_t id;
        OK(tsr_scheduler_add(s, &request, &id));
        finish_all(s, &all);
        const record *r = &all.of[id];
        for (size_t at = 0; turn == 1 && at < r->size && n < 12; n++) {
            memcpy(&ids[n], r->bytes + at, sizeof *ids);
            char *text = NULL; /* of one character, behind the id and the log-probability */
            size_t size = 0;
            OK(tsr_decode(model, &ids[n], 1, 1, &text, &size));
            at += sizeof *ids + sizeof(float) + size;
            tsr_text_free(text);
        }
        ids[n++] = 30;
    }
    tsr_scheduler_destroy(&s);
    return all.of[2];
}

Test(scheduler, a_conversation_goes_on_from_what_its_pages_have) {
    const record anew = next_turn(1), goes_on = next_turn(0);
    cr_expect(anew.cached == 0 && goes_on.cached == 4 + 7, "%u", goes_on.cached);
    cr_expect(anew.size == goes_on.size && !memcmp(anew.bytes, goes_on.bytes, anew.size));
}

/* Request i computes no more than the rest of its prompt, and gets the bytes that it gets alone. */
static void expect_cached(const records *all, uint64_t id, uint32_t i, uint32_t cached) {
    static record alone;
    const record *r = &all->of[id];
    run_alone(i, &alone);
    cr_expect(r->cached == cached, "request %d had %u tokens, not %u", (int)id, r->cached, cached);
    cr_expect(r->size == alone.size && !memcmp(r->bytes, alone.bytes, r->size), "request %d",
              (int)id);
}

Test(scheduler, a_prompt_begins_with_what_another_request_has) {
    static records all;
    memset(&all, 0, sizeof all);
    tsr_scheduler *s = make(4, 16, 0);
    const uint64_t longest = add(s, 3); /* of 113 tokens */
    for (int i = 0; i < 4; i++)
        OK(tsr_scheduler_step(s, take, &all));
    const uint64_t twin = add(s, 3), again = add(s, 3); /* it has 64 of them, and goes on */
    OK(tsr_scheduler_step(s, take, &all));
    cr_expect(count(s).running == 1 && count(s).waiting == 2, "they wait for what comes");
    finish_all(s, &all);
    expect_cached(&all, longest, 3, 0);
    expect_cached(&all, twin, 3, 96); /* the last few are not worth a wait */
    expect_cached(&all, again, 3, 96);
    const uint64_t shorter = add(s, 2); /* of 76; two pages are shared, the rest is copied */
    finish_all(s, &all);
    const uint64_t last = add(s, 3);
    finish_all(s, &all);
    expect_cached(&all, shorter, 2, 75);
    expect_cached(&all, last, 3, 112);
    tsr_scheduler_destroy(&s);
}

Test(scheduler, a_request_that_leaves_frees_its_place_in_the_next_step) {
    static records all;
    tsr_scheduler *s = make(1, 0, 0);
    all.cancel = add(s, 11); /* by the callback, at its second token */
    const uint64_t waits = add(s, 1), runs = add(s, 17), last = add(s, 12);
    OK(tsr_scheduler_cancel(s, waits));
    for (int i = 0; i < 2; i++)
        OK(tsr_scheduler_step(s, take, &all));
    cr_expect(count(s).running == 0 && count(s).waiting == 2 && count(s).cancelled == 2);
    OK(tsr_scheduler_step(s, take, &all));
    cr_expect(all.of[runs].tokens == 1);
    OK(tsr_scheduler_cancel(s, runs));
    OK(tsr_scheduler_step(s, take, &all));
    cr_expect(all.of[last].tokens && all.of[runs].tokens < 4 && !all.of[waits].tokens);
    finish_all(s, &all);
    OK(tsr_scheduler_cancel(s, last)); /* it has ended */
    cr_expect(tsr_scheduler_cancel(s, last + 1) == TSR_E_ARGUMENT);
    cr_expect(count(s).cancelled == 3 && count(s).finished == 1);
    tsr_scheduler_destroy(&s);
}

static int cancel_next(void *data, const tsr_scheduler_event *e) {
    (void)tsr_scheduler_cancel(data, e->request + 1);
    return 0;
}

/* Requests for no token end while they join. */
Test(scheduler, an_event_may_cancel_the_next_request) {
    tsr_scheduler *s = make(4, 0, 0);
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.max_new_tokens = 0;
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "hi"};
    const tsr_request request = {.struct_size = sizeof request, .prompt = &prompt, .options = &o};
    uint64_t id;
    for (int i = 0; i < 4; i++)
        OK(tsr_scheduler_add(s, &request, &id));
    OK(tsr_scheduler_step(s, cancel_next, s));
    cr_expect(count(s).finished == 2 && count(s).cancelled == 2 && !count(s).waiting);
    tsr_scheduler_destroy(&s);
}

Test(scheduler, what_is_refused) {
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    tsr_scheduler *s = make(1, 0, 0);
    static int32_t long_ids[193];
    const int32_t bad_id[] = {61}, end[] = {-1};
    const tsr_prompt text = {.struct_size = sizeof text, .text = "hi", .text_size = 2},
                     too_long = {.struct_size = sizeof text, .ids = long_ids, .n_ids = 193},
                     bad = {.struct_size = sizeof text, .ids = bad_id, .n_ids = 1};
    tsr_request r = {.struct_size = sizeof r, .options = &o};
    uint64_t id;
    const tsr_prompt *const wrong[] = {NULL, &too_long, &bad};
    for (size_t i = 0; i < 3; i++) {
        r.prompt = wrong[i];
        cr_expect(tsr_scheduler_add(s, &r, &id) == TSR_E_ARGUMENT, "%zu", i);
    }
    r.prompt = &text;
    o.num_beams = 2;
    cr_expect(tsr_scheduler_add(s, &r, &id) == TSR_E_UNSUPPORTED);
    o.num_beams = 1;
    r.ends = end;
    r.n_ends = 1;
    cr_expect(tsr_scheduler_add(s, &r, &id) == TSR_E_ARGUMENT);
    o.temperature = -1;
    r.n_ends = 0;
    cr_expect(tsr_scheduler_add(s, &r, &id) == TSR_E_ARGUMENT);
    OK(tsr_scheduler_step(s, NULL, NULL)); /* nothing to do */
    cr_expect(count(s).waiting == 0);
    tsr_scheduler_destroy(&s);
    const tsr_scheduler_options large = {.struct_size = sizeof large, .context = 1 << 20};
    cr_expect(tsr_scheduler_create(model, &large, &s) == TSR_E_ARGUMENT && !s);
    const tsr_scheduler_options wrong_memory = {.struct_size = sizeof large, .kv_tokens = -1},
                                much = {.struct_size = sizeof large, .kv_tokens = INT64_MAX};
    cr_expect(tsr_scheduler_create(model, &wrong_memory, &s) == TSR_E_ARGUMENT && !s);
    cr_expect(tsr_scheduler_create(model, &much, &s) == TSR_E_ARGUMENT && !s);
}
