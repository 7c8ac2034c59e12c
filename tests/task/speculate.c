/* Tokens that are guessed from the text so far: every result is that of a step for each token, to the
 * byte, and where a text repeats itself there are fewer steps. */
#include "tessera/scheduler.h"

#include "task/fixture.h"
#include "task/generate/drafts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- where a text may go on ---- */

static tsri_task_lookup look(const int32_t *ids, int64_t n) {
    tsri_task_lookup l = {0};
    tsri_task_lookup_update(&l, ids, n);
    return l;
}

Test(lookup, what_follows_the_most_tokens_that_are_alike) {
    static const int32_t ids[] = {1, 2, 3, 4, 9, 2, 3, 5, 9, 3, 6, 1, 2, 3};
    const tsri_task_lookup l = look(ids, 14);
    cr_expect(l.next == 3 && l.alike == 3); /* behind 1 2 3, though 2 3 stood there later */
    const int32_t wanted[] = {4, 9, 2, 3, 5, 9, 3, 6, 1, 2, 3, 4, 9};
    for (int64_t i = 0; i < 13; i++)
        cr_expect(tsri_task_lookup_token(&l, ids, i) == wanted[i], "%d", (int)i);
    cr_expect(look(ids, 10).next == 0, "one token alike is not enough");
    const tsri_task_lookup two = look(ids, 7);
    cr_expect(two.next == 3 && two.alike == 2);
    cr_expect(!look(ids, 0).next && !look(ids, 1).next);
    static const int32_t same[] = {7, 7, 7, 7}, later[] = {1, 2, 3, 1, 2, 4, 1, 2};
    cr_expect(look(same, 4).next == 3 && look(same, 4).alike == 3);
    cr_expect(look(same, 3).next == 2 &&
              tsri_task_lookup_token(&(tsri_task_lookup){.seen = 3, .next = 2}, same, 5) == 7);
    cr_expect(look(later, 8).next == 5, "of equal ones, the last");
}

Test(lookup, guesses_are_counted_whether_they_are_used_or_not) {
    int32_t ids[400];
    for (int i = 0; i < 400;
         i++) /* a period of ten tokens; from 200 on every third one is another */
        ids[i] = i < 200 || i % 3 ? i % 10 : 10 + i;
    tsri_task_lookup l = {0};
    const uint32_t before = tsri_task_lookup_chance(&l, 0);
    for (int64_t n = 1; n <= 200; n++)
        tsri_task_lookup_update(&l, ids, n);
    cr_expect(l.alike > 100 && tsri_task_lookup_chance(&l, 0) > TSRI_TASK_LOOKUP_ONE * 9 / 10);
    tsri_task_lookup whole = {0}; /* the same in large steps */
    for (int64_t n = 20; n <= 200; n += 60)
        tsri_task_lookup_update(&whole, ids, n);
    cr_expect(whole.next == l.next && tsri_task_lookup_chance(&whole, 0) > before);
    for (int64_t n = 201; n <= 400; n++)
        tsri_task_lookup_update(&l, ids, n);
    l.alike = 2;
    cr_expect(tsri_task_lookup_chance(&l, 0) < TSRI_TASK_LOOKUP_ONE * 3 / 4);
}

/* ---- how many guesses a step computes ---- */

static int64_t chosen(uint32_t texts, int64_t alike, int64_t most) {
    const tsri_task_lookup l = {.seen = 9, .next = 5, .alike = alike};
    tsri_task_draft drafts[8];
    for (uint32_t i = 0; i < texts; i++)
        drafts[i] = (tsri_task_draft){.lookup = &l, .most = most};
    tsri_task_drafts_choose(drafts, texts, 8, NULL);
    for (uint32_t i = 1; i < texts; i++)
        cr_assert(drafts[i].n == drafts[0].n);
    return drafts[0].n;
}

Test(drafts, more_where_more_is_alike_and_few_texts_run) {
    cr_expect(chosen(1, 2, 7) == 0 && chosen(1, 20, 7) == 7);
    cr_expect(chosen(2, 20, 7) == 3 && chosen(3, 20, 7) == 1 && chosen(4, 20, 7) == 1);
    cr_expect(chosen(5, 20, 7) == 0 && chosen(1, 20, 2) == 2 && chosen(1, 20, 0) == 0);
    cr_expect(chosen(1, 5, 7) > 0 && chosen(1, 5, 7) <= chosen(1, 8, 7));
    tsri_task_lookup bad = {.seen = 9, .next = 5, .alike = 20}; /* nothing while guesses fail */
    memset(bad.tried, 0, sizeof bad.tried);
    bad.tried[4] = 40;
    tsri_task_draft one = {.lookup = &bad, .most = 7};
    tsri_task_drafts_choose(&one, 1, 8, NULL);
    cr_expect(one.n == 0);
    tsri_task_drafts_choose(&one, 0, 8, NULL);
}

/* Steps of a text whose guesses would gain by reckoning alone, until `steps` are over: each takes plain_us, or
 * guessed_us with guesses. Returns how many had guesses. */
static int guessed_steps(tsri_task_pace *pace, int steps, uint64_t plain_us, uint64_t guessed_us) {
    const tsri_task_lookup l = {.seen = 9, .next = 5, .alike = 20};
    int guessed = 0;
    for (int i = 0; i < steps; i++) {
        tsri_task_draft draft = {.lookup = &l, .most = 7};
        tsri_task_drafts_choose(&draft, 1, 8, pace);
        guessed += draft.n > 0;
        tsri_task_pace_add(pace, 1, draft.n ? 1 + draft.n : 0,
                           1000 * (draft.n ? guessed_us : plain_us));
    }
    return guessed;
}

/* Steps without a guess. */
static tsri_task_pace begun_so(uint64_t first_us, uint64_t plain_us) {
    tsri_task_pace pace = {0};
    for (int i = 0; i < 20; i++)
        tsri_task_pace_add(&pace, 1, 0, 1000 * (i ? plain_us : first_us));
    return pace;
}

static tsri_task_pace begun(uint64_t plain_us) {
    return begun_so(plain_us, plain_us);
}

Test(drafts, none_where_they_were_seen_to_lose_time) {
    tsri_task_pace good = begun(1000), bad = begun(1000), late = begun(1000), few = begun(1000);
    cr_expect(guessed_steps(&good, 500, 1000, 2000) == 500, "8 rows for twice the time of one");
    const int n = guessed_steps(&bad, 500, 1000, 20000);
    cr_expect(n > 2 && n < 25, "%d steps of 500 had guesses that take 20 times as long", n);
    cr_expect(guessed_steps(&late, 100, 1000, 2000) == 100);
    cr_expect(guessed_steps(&late, 1, 1000, 900000) == 1, "one slow step");
    cr_expect(guessed_steps(&late, 100, 1000, 2000) == 100, "does not end guesses");
    tsri_task_pace_add(&few, 2, 0, 1000); /* another number of sequences is measured anew */
    cr_expect(few.plain_ns == 1000 && few.plain_steps == 1 && few.cost == 0);
}

/* The first step built a plan in the time of 50 others, so guesses wait until 100 were right, uncomputed; once the
 * plan is there, no more. */
Test(drafts, wait_until_they_pay_for_a_plan) {
    tsri_task_pace pace = begun_so(51000, 1000);
    tsri_task_lookup l = {.seen = 9, .next = 5, .alike = 20, .hits = 99};
    tsri_task_draft draft = {.lookup = &l, .most = 7};
    tsri_task_drafts_choose(&draft, 1, 8, &pace);
    cr_expect(draft.n == 0);
    l.hits = 100;
    tsri_task_drafts_choose(&draft, 1, 8, &pace);
    cr_expect(draft.n == 7);
    tsri_task_pace_add(&pace, 1, 8, 50000000);
    l.hits = 8;
    tsri_task_drafts_choose(&draft, 1, 8, &pace);
    cr_expect(draft.n == 7);
    tsri_task_pace_add(&pace, 2, 0, 1000000); /* nor for another number of sequences */
    tsri_task_pace_add(&pace, 1, 0, 1000000);
    tsri_task_drafts_choose(&draft, 1, 8, &pace);
    cr_expect(draft.n == 7);
    draft.n = 0;
    tsri_task_drafts_choose(&draft, 1, 8, NULL);
    cr_expect(draft.n == 7, "counts alone");
}

Test(drafts, begin_where_later_steps_take_longer_than_the_first) {
    tsri_task_pace pace = {0};
    for (int i = 0; i < 200; i++)
        tsri_task_pace_add(&pace, 1, 0, i < 20 ? 1000000 : 1500000);
    cr_assert(pace.plain_ns > pace.first_ns);
    const tsri_task_lookup l = {.seen = 9, .next = 5, .alike = 20};
    tsri_task_draft draft = {.lookup = &l, .most = 7};
    tsri_task_drafts_choose(&draft, 1, 8, &pace);
    cr_expect(draft.n == 7, "the plan costs nothing that was measured");
}

/* What the first step behind guesses takes longer, because it was not started ahead, is a cost of theirs. */
Test(drafts, the_step_behind_them_counts) {
    tsri_task_pace alone = begun(1000), behind = begun(1000);
    for (int i = 0; i < 20; i++) {
        tsri_task_pace_add(&alone, 1, 2, 1500000);
        tsri_task_pace_add(&alone, 1, 0, 1000000);
        tsri_task_pace_add(&behind, 1, 2, 1500000);
        tsri_task_pace_add(&behind, 1, 0, 2000000);
    }
    cr_expect(behind.plain_ns == 1000000 && alone.plain_ns == 1000000);
    cr_expect(behind.cost > alone.cost * 3 / 2, "%u, %u", behind.cost, alone.cost);
}

/* ---- requests ---- */

static tsr_model *model;

/* Makes what attention adds to a token small: the next token then depends on the last one most of all, so
 * the model soon repeats itself. */
static void weaken_attention(void) {
    char path[256];
    static unsigned char bytes[1 << 20];
    snprintf(path, sizeof path, "%s/model.safetensors", chat_folder);
    FILE *file = fopen(path, "rb");
    cr_assert(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    uint64_t head;
    fclose(file);
    memcpy(&head, bytes, sizeof head);
    json_t *arrays = json_loadb((char *)bytes + 8, head, 0, NULL), *array;
    const char *name;
    cr_assert(n < sizeof bytes && arrays);
    json_object_foreach(arrays, name, array) {
        const json_t *offsets = json_object_get(array, "data_offsets");
        for (json_int_t at = json_integer_value(json_array_get(offsets, 0));
             strstr(name, "o_proj") && at < json_integer_value(json_array_get(offsets, 1));
             at += 4) {
            float weight;
            memcpy(&weight, bytes + 8 + head + at, sizeof weight);
            weight *= 0.05f;
            memcpy(bytes + 8 + head + at, &weight, sizeof weight);
        }
    }
    json_decref(arrays);
    cr_assert(unlink(path) == 0 && (file = fopen(path, "wb")));
    cr_assert(fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static void set_up(void) {
    make_chat_folder();
    weaken_attention();
    open_reference();
    OK(tsr_model_open(chat_folder, device, NULL, &model));
}

static void tear_down(void) {
    close_chat_model(&model);
}

TestSuite(speculate, .init = set_up, .fini = tear_down);

enum { KINDS = 11, MOST_BYTES = 16384 };

typedef struct record {
    unsigned char bytes[MOST_BYTES]; /* of all that a request got */
    size_t size, tokens;
    uint32_t finish, status, cached;
} record;

typedef struct records {
    record of[KINDS * 2 + 1];
} records;

static void put(record *r, const void *bytes, size_t n) {
    cr_assert(r->size + n <= sizeof r->bytes);
    memcpy(r->bytes + r->size, bytes, n);
    r->size += n;
}

static int take(void *data, const tsr_scheduler_event *e) {
    record *r = &((records *)data)->of[e->request];
    const tsr_generated *g = e->generated;
    cr_assert(!r->finish && !r->status, "request %d goes on after its end", (int)e->request);
    r->status = e->status;
    r->cached = e->cached_tokens;
    if (!g)
        return 0;
    put(r, &g->id, sizeof g->id);
    put(r, &g->logprob, sizeof g->logprob);
    for (uint32_t i = 0; i < g->n_candidates; i++) {
        put(r, &g->candidates[i].id, sizeof g->candidates[i].id);
        put(r, &g->candidates[i].logprob, sizeof g->candidates[i].logprob);
    }
    put(r, g->text, g->text_size);
    r->tokens += g->id >= 0;
    r->finish = g->finish;
    return 0;
}

/* Ways to choose tokens; the model repeats itself at low temperatures. */
static tsr_generate_options options_of(uint32_t kind, int32_t speculate) {
    static const char *const stops[] = {"qz", "xyzzy", "ee"};
    static const tsr_logit_bias biases[] = {{9, 2}, {7, -1}};
    tsr_generate_options o = {.struct_size = sizeof o};
    OK(tsr_generate_defaults(model, &o));
    o.speculate = speculate;
    o.seed = kind;
    o.max_new_tokens = 40 - kind;
    o.temperature = kind % 3 == 2 ? 0.01f : 0;
    o.ignore_eos = 1;
    switch (kind) {
    case 2: /* drawn on the device, not always the likeliest */
        o.temperature = 0.3f;
        break;
    case 1:
        o.return_logprob = 1;
        break;
    case 3:
        o.logprobs = 3;
        break;
    case 4:
        o.stop = stops, o.n_stop = 3;
        break;
    case 5: /* drawn on the host */
        o.top_k = 0;
        break;
    case 6:
        o.presence_penalty = 1, o.frequency_penalty = 0.05f;
        o.logit_bias = biases, o.n_logit_bias = 2;
        break;
    case 7:
        o.grammar = "root ::= (\"abcd \" | \"abxy\")+ \".\"";
        break;
    case 8:
        o.repeat_penalty = 1.01f;
        break;
    case 9:
        o.temperature = 1.5f, o.top_k = 0, o.top_p = 1, o.min_p = 0; /* little is repeated */
        break;
    case 10:
        o.min_new_tokens = 5, o.ignore_eos = 0;
        break;
    default:
        break;
    }
    return o;
}

static uint64_t add(tsr_scheduler *s, uint32_t kind, int32_t speculate) {
    static const char words[] =
        "the quick brown fox, the quick brown fox, the quick brown fox, the quick";
    const tsr_generate_options o = options_of(kind, speculate);
    const tsr_prompt prompt = {
        .struct_size = sizeof prompt, .text = words, .text_size = sizeof words - 1 - kind};
    const tsr_request request = {.struct_size = sizeof request, .prompt = &prompt, .options = &o};
    uint64_t id = 0;
    OK(tsr_scheduler_add(s, &request, &id));
    return id;
}

static tsr_scheduler_counts count(const tsr_scheduler *s) {
    tsr_scheduler_counts c = {.struct_size = sizeof c};
    OK(tsr_scheduler_count(s, &c));
    return c;
}

static tsr_scheduler_counts finish_all(tsr_scheduler *s, records *all) {
    for (int steps = 0; steps < 2000; steps++) {
        const tsr_scheduler_counts c = count(s);
        if (!c.running && !c.waiting)
            return c;
        OK(tsr_scheduler_step(s, take, all));
    }
    cr_assert_fail("they go on");
    return count(s);
}

static tsr_scheduler *make(uint32_t slots) {
    const tsr_scheduler_options o = {.struct_size = sizeof o, .slots = slots, .context = 120};
    tsr_scheduler *s = NULL;
    OK(tsr_scheduler_create(model, &o, &s));
    return s;
}

static void expect_same(const record *a, const record *b, uint32_t kind, const char *how) {
    cr_expect(a->finish && a->finish == b->finish && a->size == b->size &&
                  !memcmp(a->bytes, b->bytes, a->size),
              "kind %u, %s: %zu tokens in %zu bytes, wanted %zu in %zu", kind, how, a->tokens,
              a->size, b->tokens, b->size);
}

/* What each kind of request gets in steps of one token. */
static void run_plain(records *out) {
    tsr_scheduler *s = make(1);
    memset(out, 0, sizeof *out);
    for (uint32_t kind = 0; kind < KINDS; kind++)
        cr_assert(add(s, kind, -1) == kind + 1);
    const tsr_scheduler_counts c = finish_all(s, out);
    cr_assert(!c.drafts && !c.drafted_tokens && !c.accepted_tokens);
    tsr_scheduler_destroy(&s);
}

Test(speculate, bytes_are_those_of_a_token_each_step) {
    static const uint64_t at_least[KINDS] = {10, 10, 1, 10, 2, 5, 0, 0, 2, 0, 0};
    static records plain, one, several;
    run_plain(&plain);
    tsr_scheduler *s = make(1);
    uint64_t accepted = 0;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        const tsr_scheduler_counts before = count(s);
        add(s, kind, 7);
        const tsr_scheduler_counts c = finish_all(s, &one);
        const uint64_t drafted = c.drafted_tokens - before.drafted_tokens,
                       right = c.accepted_tokens - before.accepted_tokens,
                       steps = c.steps - before.steps, tokens = one.of[kind + 1].tokens;
        expect_same(&one.of[kind + 1], &plain.of[kind + 1], kind, "alone");
        cr_expect(right <= drafted && steps + right == tokens,
                  "kind %u: %d of %d right in %d steps for %d tokens", kind, (int)right,
                  (int)drafted, (int)steps, (int)tokens);
        cr_expect(right >= at_least[kind], "kind %u: %d of %d right", kind, (int)right,
                  (int)drafted);
        accepted += right;
    }
    cr_expect(accepted > 50, "%d", (int)accepted);
    tsr_scheduler_destroy(&s);
    for (uint32_t slots = 2; slots <= 4; slots++) {
        memset(&several, 0, sizeof several);
        s = make(slots);
        for (uint32_t kind = 0; kind < KINDS; kind++)
            add(s, kind, kind == 1 ? -1 : kind == 2 ? 1 : 7);
        cr_expect(finish_all(s, &several).accepted_tokens > 0);
        tsr_scheduler_destroy(&s);
        for (uint32_t kind = 0; kind < KINDS; kind++)
            expect_same(&several.of[kind + 1], &plain.of[kind + 1], kind, "with others");
    }
}

Test(speculate, many_texts_and_the_reference_backend_gain_nothing) {
    static records all;
    tsr_scheduler *s = make(8);
    for (uint32_t kind = 0; kind < 8; kind++)
        add(s, kind, 7);
    while (count(s).running == 8 || count(s).waiting)
        OK(tsr_scheduler_step(s, take, &all));
    cr_expect(count(s).drafts == 0);
    tsr_scheduler_destroy(&s);
    s = make(1);
    memset(&all, 0, sizeof all);
    add(s, 0, 0);
    cr_expect(finish_all(s, &all).drafts == 0);
    tsr_scheduler_destroy(&s);
}

/* Each ends in the middle of what a step has computed. */
Test(speculate, ends_are_where_they_were) {
    collected plain = {0}, got;
    uint64_t accepted = 0;
    tsr_generate_options o = options_of(0, -1);
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "over and over and over and"};
    const tsr_prompt *const prompts[] = {&prompt};
    o.max_new_tokens = 64;
    OK(tsr_generate(model, prompts, 1, &o, collect, &plain, NULL));
    cr_assert(plain.n == 64);
    o.speculate = 7;
    for (int64_t n = 45; n < 53; n++) {
        tsr_generate_stats stats = {.struct_size = sizeof stats};
        o.max_new_tokens = n;
        got = (collected){0};
        OK(tsr_generate(model, prompts, 1, &o, collect, &got, &stats));
        cr_expect(got.n == (size_t)n && got.finish == TSR_FINISH_LENGTH &&
                      stats.new_tokens == (uint64_t)n && !memcmp(got.ids, plain.ids, 4 * got.n),
                  "%d", (int)n);
        accepted += stats.accepted_tokens;
        o.max_new_tokens = 64;
        o.context = 27 + n; /* with the token that begins a text */
        got = (collected){0};
        OK(tsr_generate(model, prompts, 1, &o, collect, &got, NULL));
        cr_expect(got.n == (size_t)n && got.finish == TSR_FINISH_CONTEXT, "%d: %zu", (int)n, got.n);
        o.context = 0;
        got = (collected){.cancel_after = (size_t)n};
        cr_expect(tsr_generate(model, prompts, 1, &o, collect, &got, NULL) == TSR_E_CANCELLED);
        cr_expect(got.n == (size_t)n && !memcmp(got.ids, plain.ids, 4 * got.n), "%d", (int)n);
    }
    cr_expect(accepted > 20, "%d", (int)accepted);
}

/* The slot of a request has keys of guesses that were wrong; they are no part of what another one finds. */
Test(speculate, what_a_slot_keeps_is_right) {
    static records all;
    tsr_scheduler *s = make(2);
    records *plain = &all;
    static records first;
    run_plain(&first);
    for (uint32_t i = 0; i < KINDS * 2; i++)
        add(s, i % KINDS, 7);
    finish_all(s, plain);
    uint32_t cached = 0;
    for (uint32_t i = 0; i < KINDS * 2; i++) {
        expect_same(&all.of[i + 1], &first.of[i % KINDS + 1], i % KINDS, "again");
        cached += all.of[i + 1].cached;
    }
    cr_expect(cached > 100);
    tsr_scheduler_destroy(&s);
}

/* Makes the model anew from its files. */
static void reopen(void) {
    tsr_model_close(&model);
    OK(tsr_model_open(chat_folder, device, NULL, &model));
}

Test(speculate, not_where_positions_depend_on_the_length) {
    static records all;
    json_t *config = read_json(chat_folder, "config.json");
    json_t *rope = json_pack("{s:s,s:f}", "rope_type", "dynamic", "factor", 2.0);
    cr_assert(json_object_set_new(config, "rope_scaling", rope) == 0);
    char *text = json_dumps(config, 0);
    write_chat_file("config.json", text);
    reopen();
    tsr_scheduler *s = make(1);
    add(s, 0, 7);
    cr_expect(finish_all(s, &all).drafts == 0 && all.of[1].tokens == 40);
    tsr_scheduler_destroy(&s);
    free(text);
    json_decref(config);
}

Test(speculate, what_is_refused) {
    collected got = {0};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .text = "hi"};
    const tsr_prompt *const prompts[] = {&prompt};
    for (int32_t n = -2; n <= 8; n += 10) {
        const tsr_generate_options o = options_of(0, n);
        cr_expect(tsr_generate(model, prompts, 1, &o, collect, &got, NULL) == TSR_E_ARGUMENT);
    }
}
