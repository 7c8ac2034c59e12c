/* The generation settings of a model's folder: texts that are generated with these alone, compared
 * with the official implementation (tests/golden/settings). */
#include "task/generate/settings.h"

#include "task/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEST = 8 };
#define GOLDEN TESSERA_SOURCE_DIR "/tests/golden/settings"

static char folder[64];

/* Writes a file into the folder; NULL removes it. */
static void put(const char *name, const json_t *json) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (json)
        cr_assert(json_dump_file(json, path, 0) == 0);
    else
        unlink(path);
}

/* Makes the folder: the model `name`, with the keys of `more` added to config.json, and with this
 * generation_config.json (null or NULL: none). */
static void write_folder(const char *name, json_t *more, const json_t *generation) {
    char from[1024], weights[1100], to[128];
    snprintf(from, sizeof from, GOLDEN "/%s", name);
    if (access(from, F_OK))
        snprintf(from, sizeof from, GOLDEN "/../models/%s", name);
    snprintf(weights, sizeof weights, "%s/model.safetensors", from);
    snprintf(to, sizeof to, "%s/model.safetensors", folder);
    unlink(to);
    cr_assert(symlink(weights, to) == 0);
    json_t *config = read_json(from, "config.json");
    if (more)
        cr_assert(json_object_update(config, more) == 0);
    put("config.json", config);
    json_decref(config);
    put("generation_config.json", json_is_null(generation) ? NULL : generation);
}

static void open_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/tessera-settings-XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void close_folder(void) {
    static const char *const files[] = {"model.safetensors", "config.json",
                                        "generation_config.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put(files[i], NULL);
    rmdir(folder);
}

/* ---- generated texts ---- */

static int take(void *data, const tsr_generated *g) {
    hypothesis *all = data;
    cr_assert(g->hypothesis < BEST);
    hypothesis_add(&all[g->hypothesis], g);
    return 0;
}

static bool is_wanted(const hypothesis *got, const json_t *wanted) {
    const json_t *ids = json_object_get(wanted, "ids"), *score = json_object_get(wanted, "score");
    bool same = got->finished && got->n == json_array_size(ids);
    for (size_t i = 0; same && i < got->n; i++)
        same = got->ids[i] == json_integer_value(json_array_get(ids, i));
    return same && (!score || hypothesis_scores(got, score));
}

static void run_case(json_t *one, hypothesis got[BEST]) {
    int32_t ids[64];
    const json_t *given = json_object_get(one, "input_ids");
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_model *model;
    write_folder(json_string_value(json_object_get(one, "model")), json_object_get(one, "config"),
                 json_object_get(one, "generation_config"));
    OK(tsr_model_open(folder, device, NULL, &model));
    OK(tsr_generate_defaults(model, &options));
    options.n_best = options.num_beams > 1 ? options.num_beams : 0;
    for (size_t i = 0; i < json_array_size(given); i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(given, i));
    const tsr_prompt prompt = {
        .struct_size = sizeof prompt, .ids = ids, .n_ids = (uint32_t)json_array_size(given)};
    const tsr_prompt *prompts[] = {&prompt};
    memset(got, 0, BEST * sizeof *got);
    OK(tsr_generate(model, prompts, 1, &options, take, got, NULL));
    tsr_model_close(&model);
}

static void check_model(const char *name) {
    static hypothesis got[BEST];
    json_t *root = read_json(GOLDEN, "cases.json"), *one;
    size_t i, cases = 0, wrong = 0;
    open_folder();
    open_reference();
    json_array_foreach(root, i, one) {
        const json_t *wanted = json_object_get(one, "hypotheses"), *one_wanted;
        size_t k;
        if (strcmp(json_string_value(json_object_get(one, "model")), name) != 0)
            continue;
        run_case(one, got);
        bool same = !got[json_array_size(wanted)].finished;
        json_array_foreach(wanted, k, one_wanted) same = same && is_wanted(&got[k], one_wanted);
        if (!same)
            fprintf(stderr, "%s: other results\n", json_string_value(json_object_get(one, "name")));
        wrong += !same;
        cases++;
    }
    json_decref(root);
    close_reference();
    close_folder();
    cr_assert(cases > 20);
    cr_assert(wrong == 0, "%zu of %zu cases", wrong, cases);
}

Test(settings_found, marian) {
    check_model("marian");
}

Test(settings_found, bart) {
    check_model("bart");
}

Test(settings_found, gpt2) {
    check_model("gpt2-tiny");
}

Test(settings_found, llama) {
    check_model("llama-tiny");
}

/* ---- every key is served, harmless, or warned of ---- */

typedef struct told {
    char lines[16][1024];
    size_t n;
} told;

static void collect_warning(void *data, tsr_log_level level, const char *line) {
    told *t = data;
    if (level != TSR_LOG_WARNING)
        return;
    cr_assert(t->n < 16);
    snprintf(t->lines[t->n++], sizeof t->lines[0], "%s", line);
}

/* Collects the warnings while a llama generates three times with these settings; wrong values of
 * served keys may be refused. */
static void generate_with(json_t *more, const json_t *generation, told *t) {
    static hypothesis got[BEST];
    const tsr_engine_options options = {
        .struct_size = sizeof options, .log = collect_warning, .log_data = t};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = (int32_t[]){5, 6}, .n_ids = 2};
    const tsr_prompt *prompts[] = {&prompt};
    tsr_generate_options search = {.struct_size = sizeof search};
    tsr_model *model;
    t->n = 0;
    write_folder("llama-tiny", more, generation);
    OK(tsr_engine_create(&options, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
    OK(tsr_model_open(folder, device, NULL, &model));
    for (int i = 0; i < 3; i++) {
        memset(got, 0, sizeof got);
        if (tsr_generate_defaults(model, &search) != TSR_OK)
            break;
        search.max_new_tokens = 1;
        OK(tsr_generate(model, prompts, 1, &search, take, got, NULL));
    }
    tsr_model_close(&model);
    close_reference();
}

static size_t warned(const char *key, json_t *value, bool old, told *t) {
    json_t *object = json_pack("{s:o}", key, value), *none = json_null();
    generate_with(old ? object : NULL, old ? none : object, t);
    json_decref(object);
    return t->n;
}

static const tsri_task_setting *row_of(const char *key) {
    size_t n, found = 0;
    const tsri_task_setting *rows = tsri_task_settings(&n), *row = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0) {
            row = &rows[i];
            found++;
        }
    cr_assert(found <= 1, "%s stands in the table twice", key);
    return row;
}

static bool in_cases(const json_t *cases, const char *key) {
    const json_t *one;
    size_t i;
    json_array_foreach(cases, i, one) if (json_object_get(json_object_get(one, "config"), key) ||
                                          json_object_get(json_object_get(one, "generation_config"),
                                                          key)) return true;
    return false;
}

/* A key that is ignored gives one warning, with its value and file; a default value gives none. */
Test(settings_keys, all) {
    static told t;
    json_t *root = read_json(GOLDEN, "keys.json"), *cases = read_json(GOLDEN, "cases.json"), *value;
    const char *key;
    size_t keys = 0;
    open_folder();
    json_object_foreach(json_object_get(root, "keys"), key, value) {
        const tsri_task_setting *row = row_of(key);
        cr_assert(row, "%s: what becomes of it is in no table", key);
        if (row->treatment == TSRI_TASK_SERVED)
            cr_assert(in_cases(cases, key), "%s is served, and no golden case has it", key);
        if (row->treatment != TSRI_TASK_SERVED)
            cr_assert(warned(key, json_incref(value), false, &t) == 0, "%s", t.lines[0]);
        if (row->treatment == TSRI_TASK_TOLD) {
            cr_assert(warned(key, json_real(0.25), false, &t) == 1, "%s: %zu warnings", key, t.n);
            cr_assert(strstr(t.lines[0], key) && strstr(t.lines[0], "0.25") &&
                          strstr(t.lines[0], "/generation_config.json"),
                      "%s", t.lines[0]);
            cr_assert(warned(key, json_real(0.25), true, &t) == 1, "%s: %zu warnings", key, t.n);
            cr_assert(strstr(t.lines[0], "/config.json"), "%s", t.lines[0]);
        } else if (row->treatment == TSRI_TASK_HARMLESS && strcmp(key, "pad_token_id") != 0) {
            cr_assert(warned(key, json_real(0.25), false, &t) == 0, "%s", t.lines[0]);
        }
        keys++;
    }
    close_folder();
    cr_assert(keys > 60);
    json_decref(cases);
    json_decref(root);
}

Test(settings_keys, in_words) {
    static told t;
    static const struct {
        const char *generation;
        size_t n;
        const char *fragment;
    } cases[] = {
        {"{\"temprature\": 0.5}", 1, "\"temprature\" is 0.5, an unknown key, which is ignored"},
        {"{\"sequence_bias\": [[[5], -10.0]]}", 1, "\"sequence_bias\" is [[[5],-10.0]], which is"},
        {"{\"exponential_decay_length_penalty\": [5, 1.5]}", 1, "[5,1.5], which is not supported"},
        {"{\"guidance_scale\": 1}", 0, ""},
        {"{\"guidance_scale\": 1.5, \"typical_p\": 0.2}", 2, "\"guidance_scale\" is 1.5"},
        {"{\"cache_implementation\": \"static\"}", 0, ""},
        {"{\"cache_implementation\": \"quantized\"}", 1, "is \"quantized\""},
        {"{\"do_sample\": true, \"num_beams\": 2}", 1, "a beam search draws nothing"},
        {"{\"do_sample\": true, \"num_beams\": 1}", 0, ""},
        {"{\"forced_eos_token_id\": [2, 3]}", 1, "only the first is forced"},
        {"{\"constraints\": null, \"bad_words_ids\": [], \"sequence_bias\": []}", 0, ""},
        {"{\"stop_strings\": [\"0123456789012345678901234567890123456789012345678901234567890\"]}",
         1, "0123456789012345678901234567890123456789012345678901234567..., which"}};
    open_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *generation = json_loads(cases[i].generation, 0, NULL);
        generate_with(NULL, generation, &t);
        cr_assert(t.n == cases[i].n, "%s: %zu warnings", cases[i].generation, t.n);
        cr_assert(!t.n || strstr(t.lines[0], cases[i].fragment), "%s", t.lines[0]);
        json_decref(generation);
    }
    close_folder();
}

/* A model's config.json may have keys of its own; where there is a generation_config.json, only
 * that counts. */
Test(settings_keys, of_the_model) {
    static told t;
    json_t *more = json_pack("{s:f,s:s}", "typical_p", 0.2, "my_own_key", "x"),
           *generation = json_pack("{s:i}", "top_k", 5);
    open_folder();
    generate_with(more, json_null(), &t);
    cr_assert(t.n == 1 && strstr(t.lines[0], "typical_p"), "%s", t.lines[0]);
    generate_with(more, generation, &t);
    cr_assert(t.n == 0, "%s", t.lines[0]);
    close_folder();
    json_decref(generation);
    json_decref(more);
}

/* A token that is both forced and suppressed is refused, as in transformers. A bad word may be
 * forced. */
Test(settings_keys, forced_and_suppressed) {
    static hypothesis got[BEST];
    static const struct {
        const char *generation, *fragment;
    } cases[] = {
        {"{\"forced_bos_token_id\": 4, \"suppress_tokens\": [9, 4]}",
         "\"forced_bos_token_id\" forces token 4, which is also suppressed"},
        {"{\"forced_eos_token_id\": 9, \"suppress_tokens\": [9, 4]}",
         "\"forced_eos_token_id\" forces token 9, which is also suppressed"},
        {"{\"forced_bos_token_id\": 4, \"bad_words_ids\": [[4]], \"max_new_tokens\": 2}", NULL}};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = (int32_t[]){5}, .n_ids = 1};
    const tsr_prompt *prompts[] = {&prompt};
    open_folder();
    open_reference();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *generation = json_loads(cases[i].generation, 0, NULL);
        tsr_generate_options options = {.struct_size = sizeof options};
        tsr_model *model;
        write_folder("llama-tiny", NULL, generation);
        json_decref(generation);
        OK(tsr_model_open(folder, device, NULL, &model));
        OK(tsr_generate_defaults(model, &options));
        memset(got, 0, sizeof got);
        const tsr_status status = tsr_generate(model, prompts, 1, &options, take, got, NULL);
        cr_assert(status == (cases[i].fragment ? TSR_E_FORMAT : TSR_OK), "case %zu", i);
        cr_assert(!cases[i].fragment || strstr(tsr_error_last(), cases[i].fragment), "%s",
                  tsr_error_last());
        cr_assert(cases[i].fragment || (got[0].n == 2 && got[0].ids[0] == 4));
        tsr_model_close(&model);
    }
    close_reference();
    close_folder();
}

/* ---- bounds of a text with its prompt ---- */

static tsr_status lengths(json_t *generation, uint32_t n_prompt, int64_t most_new,
                          hypothesis got[BEST]) {
    static const int32_t ids[] = {9, 44, 21, 6, 8, 17, 30, 12, 50, 4};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = n_prompt};
    const tsr_prompt *prompts[] = {&prompt};
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_model *model;
    write_folder("llama-tiny", NULL, generation);
    json_decref(generation);
    open_reference();
    OK(tsr_model_open(folder, device, NULL, &model));
    OK(tsr_generate_defaults(model, &options));
    if (most_new >= 0)
        options.max_new_tokens = most_new;
    options.ignore_eos = 1;
    memset(got, 0, BEST * sizeof *got);
    const tsr_status status = tsr_generate(model, prompts, 1, &options, take, got, NULL);
    tsr_model_close(&model);
    close_reference();
    return status;
}

Test(settings_lengths, prompt_counts) {
    static hypothesis got[BEST];
    for (int beams = 1; beams <= 2; beams++) {
#define LENGTH json_pack("{s:i,s:i,s:b}", "max_length", 9, "num_beams", beams, "do_sample", 0)
        open_folder();
        OK(lengths(LENGTH, 4, -1, got));
        cr_assert(got[0].n == 5, "%zu", got[0].n);
        OK(lengths(LENGTH, 8, -1, got));
        cr_assert(got[0].n == 1, "%zu", got[0].n);
        OK(lengths(LENGTH, 9, 3, got)); /* an option takes precedence */
        cr_assert(got[0].n == 3, "%zu", got[0].n);
        cr_assert(lengths(LENGTH, 9, -1, got) == TSR_E_ARGUMENT);
        cr_assert(strstr(tsr_error_last(), "the prompt has 9 tokens, but max_length (") &&
                      strstr(tsr_error_last(), "generation_config.json) allows 9"),
                  "%s", tsr_error_last());
        close_folder();
    }
}

/* ---- what a file leaves out ---- */

/* A file that says do_sample leaves out the keys that have transformers' values. */
Test(settings_keys, left_out) {
    static const struct {
        const char *generation;
        float temperature, top_p, min_p;
        int32_t top_k;
    } cases[] = {{"{\"do_sample\": true, \"top_k\": 64, \"top_p\": 0.95}", 1, 0.95f, 0, 64},
                 {"{\"do_sample\": true}", 1, 1, 0, 50},
                 {"{\"do_sample\": true, \"temperature\": 0.6, \"min_p\": 0.1}", 0.6f, 1, 0.1f, 50},
                 {"{\"do_sample\": false}", 0, 0.95f, 0.05f, 40},
                 {"{\"eos_token_id\": 2}", 0.8f, 0.95f, 0.05f, 40}};
    open_folder();
    open_reference();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsr_model *model = NULL;
        tsr_generate_options o = {.struct_size = sizeof o};
        json_t *generation = json_loads(cases[i].generation, 0, NULL);
        write_folder("llama-tiny", NULL, generation);
        json_decref(generation);
        OK(tsr_model_open(folder, device, NULL, &model));
        OK(tsr_generate_defaults(model, &o));
        cr_expect(o.temperature == cases[i].temperature && o.top_p == cases[i].top_p &&
                      o.min_p == cases[i].min_p && o.top_k == cases[i].top_k,
                  "case %zu: %g %g %g %d", i, (double)o.temperature, (double)o.top_p,
                  (double)o.min_p, (int)o.top_k);
        tsr_model_close(&model);
    }
    close_reference();
    close_folder();
}

/* ---- settings of a wrong form ---- */

Test(settings_keys, refused) {
    static const struct {
        const char *generation, *fragment;
    } cases[] = {
        {"{\"eos_token_id\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "lists 17 ids"},
        {"{\"eos_token_id\": 61}", "\"eos_token_id\" must be ids from 0"},
        {"{\"eos_token_id\": \"2\"}", "\"eos_token_id\" must be ids from 0"},
        {"{\"decoder_start_token_id\": 1000}", "\"decoder_start_token_id\" must be ids from 0"},
        {"{\"bos_token_id\": 1.5}", "\"bos_token_id\" must be ids from 0"},
        {"[]", "an object was expected"}};
    open_folder();
    open_reference();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tsr_model *model = NULL;
        json_t *generation = json_loads(cases[i].generation, 0, NULL);
        write_folder("llama-tiny", NULL, generation);
        json_decref(generation);
        cr_assert(tsr_model_open(folder, device, NULL, &model) == TSR_E_FORMAT, "case %zu", i);
        cr_assert(strstr(tsr_error_last(), cases[i].fragment) &&
                      strstr(tsr_error_last(), "/generation_config.json"),
                  "%s", tsr_error_last());
    }
    close_reference();
    close_folder();
}

/* ---- an empty prompt ---- */

/* An empty prompt begins with the settings' token, where config.json has another one. */
Test(settings_found, empty_prompt) {
    static hypothesis got[3][BEST];
    static const int32_t bos[] = {9, 9, 1};
    json_t *both = json_pack("{s:i,s:b,s:i,s:i}", "bos_token_id", 9, "do_sample", 0,
                             "max_new_tokens", 8, "eos_token_id", 2);
    open_folder();
    for (int i = 0; i < 3; i++) { /* no prompt; the settings' token as an id; config.json's token */
        const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = &bos[i], .n_ids = i > 0};
        const tsr_prompt *prompts[] = {&prompt};
        tsr_generate_options options = {.struct_size = sizeof options};
        tsr_model *model;
        write_folder("llama-tiny", NULL, both);
        open_reference();
        OK(tsr_model_open(folder, device, NULL, &model));
        OK(tsr_generate_defaults(model, &options));
        OK(tsr_generate(model, prompts, 1, &options, take, got[i], NULL));
        tsr_model_close(&model);
        close_reference();
    }
    close_folder();
    json_decref(both);
    cr_assert(got[0][0].n && !memcmp(&got[0][0], &got[1][0], sizeof(hypothesis)));
    cr_assert(memcmp(&got[0][0], &got[2][0], sizeof(hypothesis)));
}
