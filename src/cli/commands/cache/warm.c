/* cli/commands/cache/warm.c - tessera cache warm: runs models as the first command of a user would, so
 * that their kernels are built and tested before, for an installer or the image of a container. */
#include "cli/commands/cache/warm.h"
#include "cli/base/json.h"

#include <stdlib.h>
#include <string.h>

/* A line, a page and some words: kernels for few rows, for many and for very few. */
static const char line[] = "The quick brown fox jumps over the lazy dog.", words[] = "The fox";
enum { LINE, PAGE, WORDS, TEXTS, PAGE_LINES = 12, TOKENS = 4 };

#define DRAWN 0.8f /* a temperature at which tokens are drawn */

typedef struct texts {
    tsr_string strings[TEXTS];
    char page[PAGE_LINES * sizeof line + 1];
} texts;

static void fill(texts *t) {
    t->page[0] = 0;
    for (int i = 0; i < PAGE_LINES; i++)
        strcat(strcat(t->page, line), " ");
    t->strings[LINE] = (tsr_string){line, strlen(line)};
    t->strings[PAGE] = (tsr_string){t->page, strlen(t->page)};
    t->strings[WORDS] = (tsr_string){words, strlen(words)};
}

static int stop_soon(void *data, const tsr_generated *generated) {
    (void)generated;
    return ++*(int *)data >= TOKENS;
}

static int ignore_fill(void *data, const tsr_fill *filled) {
    (void)data, (void)filled;
    return 0;
}

static int ignore_answers(void *data, size_t question, const tsr_answer_span *answers, size_t n) {
    (void)data, (void)question, (void)answers, (void)n;
    return 0;
}

static int ignore_spans(void *data, size_t text, const tsr_span *spans, size_t n) {
    (void)data, (void)text, (void)spans, (void)n;
    return 0;
}

static const int32_t ids[TOKENS];

/* Up to the end of the context, for which kernels are tested further than for a few tokens; but it is
 * stopped soon. */
static tsr_status generate_after(tsr_model *model, const tsr_prompt *prompt, float temperature) {
    tsr_generate_options options = {.struct_size = sizeof options};
    int tokens = 0;
    tsr_status status = tsr_generate_defaults(model, &options);
    options.max_new_tokens = -1;
    options.max_length = 0;
    options.ignore_eos = 1;
    options.temperature = temperature;
    if (status == TSR_OK)
        status = tsr_generate(model, &prompt, 1, &options, stop_soon, &tokens, NULL);
    return status == TSR_E_CANCELLED && tokens >= TOKENS ? TSR_OK : status;
}

/* A model without a tokenizer gets ids. */
static tsr_status generate(tsr_model *model, const tsr_model_info *info, const texts *t,
                           float temperature) {
    tsr_status status = TSR_OK;
    for (int i = 0; i < TEXTS && status == TSR_OK; i++) {
        tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = TOKENS};
        if (info->has_tokenizer)
            prompt = (tsr_prompt){.struct_size = sizeof prompt,
                                  .text = t->strings[i].data,
                                  .text_size = t->strings[i].size};
        status = generate_after(model, &prompt, temperature);
        if (i == PAGE && status == TSR_E_ARGUMENT) /* the page is longer than the model reads */
            status = TSR_OK;
    }
    return status;
}

static tsr_status generate_greedily(tsr_model *model, const tsr_model_info *info, const texts *t) {
    return generate(model, info, t, 0);
}

static tsr_status generate_by_draws(tsr_model *model, const tsr_model_info *info, const texts *t) {
    return generate(model, info, t, DRAWN);
}

/* A prompt of one token needs other kernels than a longer one. */
static tsr_status generate_after_one(tsr_model *model, float temperature) {
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = 1};
    return generate_after(model, &prompt, temperature);
}

static tsr_status generate_greedily_after_one(tsr_model *model, const tsr_model_info *info,
                                              const texts *t) {
    (void)info, (void)t;
    return generate_after_one(model, 0);
}

static tsr_status generate_by_draws_after_one(tsr_model *model, const tsr_model_info *info,
                                              const texts *t) {
    (void)info, (void)t;
    return generate_after_one(model, DRAWN);
}

static tsr_status translate(tsr_model *model, const tsr_model_info *info, const texts *t) {
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_translate_options how = {.struct_size = sizeof how, .search = &options};
    tsr_status status = tsr_translate_defaults(model, &options);
    (void)info;
    options.max_new_tokens = TOKENS;
    for (int i = 0; i < TEXTS && status == TSR_OK; i++) {
        char *text = NULL;
        size_t size = 0;
        status =
            tsr_translate_text(model, &how, t->strings[i].data, t->strings[i].size, &text, &size);
        tsr_text_free(text);
    }
    return status;
}

static tsr_status embed(tsr_model *model, const tsr_model_info *info, const texts *t) {
    tsr_embedder *embedder = NULL;
    tsr_embedder_info of = {.struct_size = sizeof of};
    tsr_status status = tsr_embedder_create(model, NULL, &embedder);
    (void)info;
    if (status == TSR_OK)
        status = tsr_embedder_info_get(embedder, &of);
    float *vectors = status == TSR_OK ? malloc(2 * sizeof(float) * of.width) : NULL;
    for (size_t n = 1; n <= 2 && status == TSR_OK; n++)
        status = vectors ? tsr_embed(embedder, t->strings, n, vectors, NULL) : TSR_E_HOST_MEMORY;
    free(vectors);
    tsr_embedder_destroy(&embedder);
    return status;
}

static tsr_status classify(tsr_model *model, const tsr_model_info *info, const texts *t) {
    tsr_classifier *classifier = NULL;
    tsr_status status = tsr_classifier_create(model, NULL, &classifier);
    const bool tokens = classifier && tsr_classifier_kind_of(classifier) == TSR_CLASSIFIER_TOKENS;
    float *scores = malloc(2 * sizeof(float) * (size_t)info->labels);
    for (size_t n = 1; n <= 2 && status == TSR_OK; n++)
        status = !scores  ? TSR_E_HOST_MEMORY
                 : tokens ? tsr_classify_tokens(classifier, t->strings, n, ignore_spans, NULL, NULL)
                          : tsr_classify(classifier, t->strings, NULL, n, scores, NULL);
    free(scores);
    tsr_classifier_destroy(&classifier);
    return status;
}

static tsr_status answer(tsr_model *model, const tsr_model_info *info, const texts *t) {
    tsr_answerer *answerer = NULL;
    tsr_status status = tsr_answerer_create(model, NULL, &answerer);
    (void)info;
    for (size_t n = 1; n <= 2 && status == TSR_OK; n++)
        status =
            tsr_answer_questions(answerer, t->strings, t->strings, n, ignore_answers, NULL, NULL);
    tsr_answerer_destroy(&answerer);
    return status;
}

static tsr_status fill_mask(tsr_model *model, const tsr_model_info *info, const texts *t) {
    static const char masked[] = "The quick brown [MASK] jumps.";
    (void)info, (void)t;
    return tsr_fill_mask(model, &(tsr_string){masked, strlen(masked)}, 1, 5, ignore_fill, NULL);
}

static bool is_of_kind(const tsr_model_info *info, const char *kind) {
    return !strcmp(info->kind, kind);
}
static bool generates(const tsr_model_info *info) {
    return is_of_kind(info, "decoder") && !info->labels;
}
static bool translates(const tsr_model_info *info) {
    return is_of_kind(info, "encoder-decoder");
}
static bool classifies(const tsr_model_info *info) {
    return info->labels > 0;
}
static bool embeds(const tsr_model_info *info) {
    return is_of_kind(info, "encoder") && !info->labels;
}

/* What models of a kind are used for. A model may lack what `optional` ones need. Each is run on a device
 * that is opened for it, as a command does: what it builds depends on what is built already. */
static const struct {
    const char *command; /* NULL: the one before, in another way */
    bool (*suits)(const tsr_model_info *info);
    tsr_status (*run)(tsr_model *model, const tsr_model_info *info, const texts *t);
    bool optional;
} uses[] = {{"generate", generates, generate_greedily, false},
            {NULL, generates, generate_by_draws, false},
            {NULL, generates, generate_greedily_after_one, false},
            {NULL, generates, generate_by_draws_after_one, false},
            {"translate", translates, translate, false},
            {"classify", classifies, classify, true},
            {"answer", classifies, answer, true},
            {"embed", embeds, embed, false},
            {"fill-mask", embeds, fill_mask, true}};

/* What the model is, by its files alone. */
static int look(tsri_cli_app *app, tsr_model_info *info) {
    tsr_model_options options;
    int code = tsri_cli_model_settings(app, &options);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_open(app->model_name, NULL, &options, &app->model));
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_info_get(app->model, info));
    return code;
}

/* *ran: whether the model has what this use needs. */
static int run_use(tsri_cli_app *app, size_t use, const tsr_model_info *info, const texts *t,
                   bool *ran) {
    int code = tsri_cli_open_model(app);
    if (code == CLI_OK) {
        const tsr_status status = uses[use].run(app->model, info, t);
        *ran = status == TSR_OK;
        if (status != TSR_E_STATE || !uses[use].optional)
            code = tsri_cli_run_status(status);
    }
    tsr_model_close(&app->model);
    tsr_device_close(&app->device);
    return code;
}

static void print(tsri_cli_app *app, const char *name, json_t *commands, double took) {
    if (app->json) {
        tsri_cli_json_print(app,
                            json_pack("{s:o,s:O,s:f}", "model", tsri_cli_json_string(name),
                                      "commands", commands, "seconds", took),
                            JSON_COMPACT | JSON_REAL_PRECISION(4));
        return;
    }
    tsri_cli_print(app, "%s: ", name);
    for (size_t i = 0; i < json_array_size(commands); i++)
        tsri_cli_print(app, "%s%s", i ? ", " : "", json_string_value(json_array_get(commands, i)));
    tsri_cli_print(app, ", %.1f s\n", took);
}

static int warm(tsri_cli_app *app, const char *name) {
    static texts t;
    const uint64_t begun = tsri_cli_now_ns();
    tsr_model_info info = {.struct_size = sizeof info};
    json_t *commands = json_array();
    fill(&t);
    app->model_name = name;
    int code = look(app, &info);
    tsr_model *files = app->model; /* `info` has texts of it */
    app->model = NULL;
    for (size_t i = 0; i < sizeof uses / sizeof *uses && code == CLI_OK; i++) {
        bool ran = false;
        if (uses[i].suits(&info))
            code = run_use(app, i, &info, &t, &ran);
        if (ran && uses[i].command)
            tsri_cli_json_append(commands, json_string(uses[i].command));
    }
    if (code == CLI_OK)
        print(app, name, commands, (double)(tsri_cli_now_ns() - begun) * 1e-9);
    json_decref(commands);
    tsr_model_close(&files);
    return code;
}

typedef struct bundled {
    tsri_cli_app *app;
    size_t n;
    int code; /* of the first that failed */
} bundled;

static void warm_bundled(void *data, const char *name, const char *path) {
    bundled *all = data;
    (void)path;
    all->n++;
    if (all->code == CLI_OK)
        all->code = warm(all->app, name);
}

int tsri_cli_warm(tsri_cli_app *app, const tsri_cli_list *operands) {
    bundled all = {.app = app};
    int code = CLI_OK;
    const char *option = app->model_name;
    if (option)
        code = warm(app, option);
    for (size_t i = 1; i < operands->n && code == CLI_OK; i++)
        code = warm(app, operands->items[i]);
    if (option || operands->n > 1)
        return code;
    code = tsri_cli_status(tsr_model_bundled(warm_bundled, &all));
    if (code == CLI_OK && all.n == 0)
        code = tsri_cli_fail(CLI_FILE,
                             "no bundled model was found; name one: tessera cache warm MODEL");
    return code == CLI_OK ? all.code : code;
}
