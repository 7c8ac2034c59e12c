/* cli/base/app.c - the options that commands share; opens the engine, the device and the model that
 * they name, and closes them. */
#include "cli/base/app.h"
#include "base/system/files.h"
#include "base/system/system.h"
#include "cli/base/json.h"
#include "cli/base/names.h"
#include "cli/base/watch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const tsri_cli_option *tsri_cli_device_options(tsri_cli_app *app) {
    static tsri_cli_option rows[8];
    const tsri_cli_option all[] = {
        {"device", 'd', CLI_TEXT, &app->device_name, "D",
         "a number, platform/device, cpu, gpu, accelerator or a backend; A,B splits the layers "
         "between devices",
         0, 0, NULL},
        {"backend", 0, CLI_LIST, &app->backends, "FILE",
         "also load this backend plugin; may be given several times", 0, 0, NULL},
        {"kernels", 0, CLI_TEXT, &app->kernels, "OP=VARIANT[:TUNABLE=N],..",
         "use these kernel variants; tessera explain lists them", 0, 0, NULL},
        {"bundle", 0, CLI_TEXT, &app->bundle, "FOLDER",
         "use only the built kernels in this folder (see tessera help kernels)", 0, 0, NULL},
        {"threads", 't', CLI_INT, &app->threads, "N", "use at most N threads on a CPU device", 1,
         65536, NULL},
        {"device-memory", 0, CLI_INT, &app->device_memory, "MIB",
         "use at most so many MiB of each device for the model", 1, 1 << 30, NULL},
        {"profile", 0, CLI_MAYBE, &app->profile, "FILE.json",
         "at the end, report the device time of each op and kernel; of several ranks, rank N above "
         "0 writes FILE.json.rankN",
         0, 0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const tsri_cli_option *tsri_cli_model_options(tsri_cli_app *app) {
    static tsri_cli_option rows[7];
    const tsri_cli_option all[] = {
        {"model", 'm', CLI_TEXT, &app->model_name, "MODEL",
         "a folder (Hugging Face or CTranslate2), a .gguf or llama2.c .bin file, or a name: of a "
         "bundled model, or org/name[@revision][:Q4_K_M] in a cache (tessera models)",
         0, 0, NULL},
        {"dtype", 0, CLI_TEXT, &app->dtype_name, "f32|f16|bf16|q8|q4",
         "how weights are stored on the device (default: as in the file)", 0, 0, NULL},
        {"kv-dtype", 0, CLI_TEXT, &app->kv_dtype_name, "f32|f16|q8",
         "how keys and values are stored; f16 needs half the memory, q8 a quarter (default: f32 "
         "with weights in "
         "f32 or where those of one context need at most 64 MiB, else f16)",
         0, 0, NULL},
        {"compute", 0, CLI_TEXT, &app->compute_name, "f32|f16|bf16|int8|auto",
         "how matrix products are computed; int8 is for q8 and q4 weights and the blocks of GGUF "
         "files; with q8 weights it raised a model's perplexity by 0.50 % over that of f32 weights "
         "(default: auto)",
         0, 0, NULL},
        {"ctx-size|context", 'c', CLI_INT, &app->context, "N",
         "the most tokens a sequence may have (default: as many as the model can read; tessera "
         "serve: at most 4096); for models with longrope scaling, this also selects the short or "
         "the long factors",
         1, 1 << 30, NULL},
        {"lora", 0, CLI_LIST, &app->loras, "FOLDER",
         "add this LoRA adapter (in PEFT's layout) to the weights; may be given several times", 0,
         0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const tsri_cli_option *tsri_cli_rank_options(tsri_cli_app *app) {
    static tsri_cli_option rows[3];
    const tsri_cli_option all[] = {
        {"transport", 0, CLI_TEXT, &app->transport, "mpi|none",
         "how the processes started by mpirun or srun communicate (default: mpi where a launcher "
         "started several)",
         0, 0, NULL},
        {"deadline", 0, CLI_INT, &app->deadline, "SECONDS",
         "end when another process gives no sign of life for so long (default: 20)", 1, 1 << 20,
         NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const tsri_cli_option *tsri_cli_split_options(tsri_cli_app *app) {
    static tsri_cli_option rows[4];
    const tsri_cli_option *const ranks = tsri_cli_rank_options(app);
    size_t n = 0;
    rows[n++] = (tsri_cli_option){
        "split-layers",
        0,
        CLI_FLAG,
        &app->split_layers,
        NULL,
        "split the model's layers over these processes, each of which reads only its own (default: "
        "each has the whole model, and they share the texts)",
        0,
        0,
        NULL};
    for (const tsri_cli_option *row = ranks; row->names; row++)
        rows[n++] = *row;
    rows[n] = (tsri_cli_option){0};
    return rows;
}

const tsri_cli_option *tsri_cli_common_options(tsri_cli_app *app) {
    static tsri_cli_option rows[4];
    const tsri_cli_option all[] = {
        {"quiet", 'q', CLI_FLAG, &app->quiet, NULL, "print only results and errors", 0, 0, NULL},
        {"verbose", 'v', CLI_FLAG, &app->verbose, NULL, "print more about what is done", 0, 0,
         NULL},
        {"progress", 0, CLI_WORD, &app->progress, "auto|plain|none",
         "how to show progress on standard error: auto: one line, redrawn, if that is a terminal, "
         "and plain where mpirun or srun started several processes; plain: lines as in a log; "
         "none: nothing",
         0, 0, NULL},
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const tsri_cli_option *tsri_cli_json_option(tsri_cli_app *app) {
    static tsri_cli_option rows[2];
    const tsri_cli_option all[] = {
        {"json", 0, CLI_FLAG, &app->json, NULL, "print JSON", 0, 0, NULL}, {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

const tsri_cli_option *tsri_cli_running_options(tsri_cli_app *app, bool json) {
    static tsri_cli_option rows[24];
    const tsri_cli_option *const tables[] = {
        tsri_cli_model_options(app), tsri_cli_device_options(app),
        json ? tsri_cli_json_option(app) : &(tsri_cli_option){0}, tsri_cli_common_options(app)};
    size_t n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const tsri_cli_option *row = tables[i]; row->names; row++)
            rows[n++] = *row;
    return rows;
}

/* Remembers the last warnings, so that none is printed twice. */
static bool is_told(tsri_cli_app *app, const char *line) {
    enum { MOST = sizeof app->told / sizeof *app->told };
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const char *c = line; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    for (size_t i = 0; i < MOST && i < app->n_told; i++)
        if (app->told[i] == hash)
            return true;
    app->told[app->n_told++ % MOST] = hash;
    return false;
}

__attribute__((format(PRINTF, 2, 3))) static void say(const char *mark, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tsri_cli_say(mark, format, args);
    va_end(args);
}

static void log_line(void *data, tsr_log_level level, const char *line) {
    tsri_cli_app *app = data;
    static const char *const marks[] = {"error: ", "warning: ", "", "debug: "};
    const tsr_log_level shown = app->warns     ? TSR_LOG_WARNING
                                : app->quiet   ? TSR_LOG_ERROR
                                : app->verbose ? TSR_LOG_DEBUG
                                               : TSR_LOG_INFO;
    if (level > shown || (level == TSR_LOG_WARNING && is_told(app, line)))
        return;
    tsri_cli_clear_progress(app);
    say(level > TSR_LOG_WARNING ? "" : tsri_cli_rank_name(), "%s%s", marks[level & 3], line);
}

/* Some CPU drivers start one thread per core unless the environment limits them. The library leaves
 * the environment alone; the command may set it here, while it has a single thread. */
static void limit_drivers(int64_t threads) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)threads);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
    setenv("CL_CONFIG_CPU_TBB_NUM_WORKERS", text, 0);
}

/* Makes the folder and those above it; false where it can't be written. */
static bool make_folder(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    mkdir(path, 0700);
    return access(path, W_OK | X_OK) == 0;
}

/* A damaged file in pocl's kernel cache makes pocl crash in every run. In our folder it can be
 * cleared: by the run after a crash, and by tessera cache clear. */
static void place_driver_cache(void) {
    char *path = tsri_cli_watch_cache("pocl");
    if (path && !getenv("POCL_CACHE_DIR") && make_folder(path))
        setenv("POCL_CACHE_DIR", path, 0);
    free(path);
}

/* Any failure to open a device counts as the device's, except where host memory runs out. */
static int of_device(int code, tsr_status status) {
    return status == TSR_OK || status == TSR_E_HOST_MEMORY ? code : CLI_DEVICE;
}

/* `device` is the device to be opened: for the reference no driver is loaded. */
static int create_engine(tsri_cli_app *app, const char *device) {
    const tsr_engine_options options = {.struct_size = sizeof options,
                                        .backends = app->backends.items,
                                        .n_backends = (uint32_t)app->backends.n,
                                        .log = log_line,
                                        .log_data = app,
                                        .threads = (uint32_t)app->threads,
                                        .device = device,
                                        .progress = tsri_cli_watch_progress,
                                        .progress_data = app};
    if (app->engine)
        return CLI_OK;
    place_driver_cache();
    tsri_cli_watch_begin(app);
    if (app->threads)
        limit_drivers(app->threads);
    const tsr_status status = tsr_engine_create(&options, &app->engine);
    const int code = tsri_cli_status(status);
    return code == CLI_FILE ? code : of_device(code, status);
}

int tsri_cli_open_engine(tsri_cli_app *app) {
    return create_engine(app, app->device_name);
}

/* What --device names, or TESSERA_DEVICE without it; NULL: neither names one. */
static const char *named_device(const tsri_cli_app *app) {
    const char *name =
        app->device_name && *app->device_name ? app->device_name : getenv("TESSERA_DEVICE");
    return name && *name ? name : NULL;
}

int tsri_cli_open_device(tsri_cli_app *app) {
    const tsr_device_open_options options = {.struct_size = sizeof options,
                                             .threads = (uint32_t)app->threads,
                                             .profile = app->profile != NULL || app->measure,
                                             .no_self_test = app->no_self_test,
                                             .kernels = app->kernels,
                                             .bundle = app->bundle,
                                             .record = app->record,
                                             .turn = app->turn,
                                             .memory = (uint64_t)app->device_memory << 20};
    const int code = create_engine(app, named_device(app));
    if (code != CLI_OK || app->device)
        return code;
    const tsr_status status =
        tsr_device_open(app->engine, app->device_name, &options, &app->device);
    if (status != TSR_OK) /* also where no device fits the name: other ranks may have one */
        return of_device(tsri_cli_fail_as(tsri_cli_rank_name(), CLI_OTHER, "%s", tsr_error_last()),
                         status);
    tsri_cli_note(app, "device: %s", tsr_device_describe(app->device));
    return CLI_OK;
}

/* The name in "A,B" whose turn it is; *turn becomes how often it had one before. */
static char *device_of(const char *names, uint32_t *turn) {
    uint32_t n = 1, same = 0, before = 0, i = 0;
    const char *own = names, *c;
    size_t length;
    for (c = names; *c; c++)
        n += *c == ',';
    for (i = *turn % n; i > 0; i--)
        own = strchr(own, ',') + 1;
    length = strcspn(own, ",");
    for (c = names; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
        if (strcspn(c, ",") == length && !strncmp(c, own, length)) {
            same++;
            before += c < own;
        }
    *turn = *turn / n * same + before;
    return strndup(own, length);
}

/* What a rank is called, and its device: several ranks write to one place, and take the devices of
 * their host in turn. */
static void share_host(tsri_cli_app *app, const tsr_ranks_info *info) {
    const char *named = named_device(app);
    tsri_cli_name_rank(info->rank, info->host);
    app->turn = info->local_rank;
    if (named)
        app->device_name = app->own_device = device_of(named, &app->turn);
}

/* Options that ranks may have been given differently. */
static bool is_own(const tsri_cli_option *o) {
    static const char *const own[] = {"device",    "device-memory", "backend", "threads",
                                      "profile",   "quiet",         "verbose", "output",
                                      "transport", "deadline",      "progress"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(o->names, own[i]))
            return true;
    return false;
}

/* Appends to *list; where there is too little memory, *list becomes NULL and stays so. */
__attribute__((format(PRINTF, 2, 3))) static void append(char **list, const char *format, ...) {
    char *longer = NULL, *more = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&more, format, args) < 0)
        more = NULL;
    va_end(args);
    if (!*list || !more || asprintf(&longer, "%s%s", *list, more) < 0)
        longer = NULL;
    free(more);
    free(*list);
    *list = longer;
}

/* A text in quotes, with its line ends escaped: the list has a line for each option, and the text
 * "none" differs from no text. */
static void append_text(tsri_cli_app *app, char **list, const char *text) {
    json_t *value = tsri_cli_json_string(text);
    size_t n;
    char *quoted = tsri_cli_json_dump(app, value, JSON_ENCODE_ANY, &n);
    append(list, "%s", quoted ? quoted : "");
    free(quoted);
    json_decref(value);
}

static void append_value(tsri_cli_app *app, char **list, const tsri_cli_option *o) {
    const tsri_cli_list *values = o->out;
    const char *text;
    switch (o->kind) {
    case CLI_FLAG:
        append(list, "%s", *(const bool *)o->out ? "given" : "none");
        return;
    case CLI_INT:
        append(list, "%" PRId64, *(const int64_t *)o->out);
        return;
    case CLI_SEED:
        append(list, "%" PRIu64, *(const uint64_t *)o->out);
        return;
    case CLI_REAL:
        append(list, "%.9g", (double)*(const float *)o->out);
        return;
    case CLI_LIST:
        for (size_t i = 0; i < values->n; i++) {
            append(list, "%s", i ? " " : "");
            append_text(app, list, values->items[i]);
        }
        append(list, "%s", values->n ? "" : "none");
        return;
    default:
        text = *(const char *const *)o->out;
        if (text)
            append_text(app, list, text);
        else
            append(list, "none");
    }
}

/* Compares a list of lines with those of the other ranks, and frees it; NULL: there was too little
 * memory. */
static int compare(tsri_cli_app *app, char *list) {
    const int code = list ? tsri_cli_status(tsr_ranks_compare(app->ranks, list))
                          : tsri_cli_fail(CLI_OTHER, "out of memory");
    free(list);
    return code;
}

/* Compares the command, the version and the options with those of the other ranks. */
static int compare_options(tsri_cli_app *app, const char *command,
                           const tsri_cli_option *const *tables) {
    char *list = strdup("the command\t"), name[CLI_NAME_ROOM];
    append(&list, "%s\nthe version\t%s\n", command, tsr_version());
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++) {
            const char *at = o->names;
            if (is_own(o) || !tsri_cli_next_name(&at, name))
                continue;
            append(&list, "--%s\t", name);
            append_value(app, &list, o);
            append(&list, "\n");
        }
    return compare(app, list);
}

int tsri_cli_compare_files(tsri_cli_app *app, const tsri_cli_compared *files, size_t n) {
    char *list = strdup("");
    for (size_t i = 0; i < n && app->ranks; i++) {
        append(&list, "what is in the file of %s\t", files[i].option);
        append_text(app, &list, files[i].text ? files[i].text : "");
        append(&list, "\n");
    }
    return compare(app, list);
}

int tsri_cli_open_ranks(tsri_cli_app *app, const char *command,
                        const tsri_cli_option *const *tables) {
    const tsr_ranks_options options = {.struct_size = sizeof options,
                                       .deadline_seconds = (uint32_t)app->deadline,
                                       .transport = app->transport};
    tsr_ranks_info info = {.struct_size = sizeof info};
    tsr_status status = tsr_ranks_open(&options, &app->ranks);
    if (status == TSR_OK)
        status = tsr_ranks_info_get(app->ranks, &info);
    if (status != TSR_OK)
        return tsri_cli_status(status);
    app->rank = info.rank;
    app->n_ranks = info.size;
    app->warns = info.rank > 0 && !app->quiet;
    app->quiet |= info.rank > 0;
    if (info.size > 1)
        share_host(app, &info);
    return app->ranks ? compare_options(app, command, tables) : CLI_OK;
}

static int show_progress(void *data, uint64_t done, uint64_t total) {
    return tsri_cli_watch_loading(data, done, total);
}

typedef struct word {
    const char *text;
    uint32_t value;
} word;

/* Sets *value to the value that `text` has in a list, whose last entry has no text. Leaves *value
 * alone where `text` is NULL. */
static int word_of(const char *option, const char *text, const word *words, const char *wanted,
                   uint32_t *value) {
    for (; text && words->text; words++)
        if (!strcmp(words->text, text)) {
            *value = words->value;
            return CLI_OK;
        }
    return !text ? CLI_OK : tsri_cli_fail(CLI_USAGE, "--%s %s: give %s", option, text, wanted);
}

int tsri_cli_model_settings(tsri_cli_app *app, tsr_model_options *options) {
    static const word dtypes[] = {{"f32", TSR_F32},
                                  {"float32", TSR_F32},
                                  {"f16", TSR_F16},
                                  {"float16", TSR_F16},
                                  {"bf16", TSR_BF16},
                                  {"bfloat16", TSR_BF16},
                                  {"q8", TSR_GGML_Q8_0},
                                  {"q8_0", TSR_GGML_Q8_0},
                                  {"q4", TSR_GGML_Q4_0},
                                  {"q4_0", TSR_GGML_Q4_0},
                                  {NULL, 0}};
    static const word computes[] = {
        {"auto", TSR_MODEL_COMPUTE_AUTO}, {"f32", TSR_MODEL_COMPUTE_F32},
        {"f16", TSR_MODEL_COMPUTE_F16},   {"int8", TSR_MODEL_COMPUTE_INT8},
        {"bf16", TSR_MODEL_COMPUTE_BF16}, {NULL, 0}};
    static const word kv_dtypes[] = {
        {"f32", TSR_F32},      {"float32", TSR_F32},    {"f16", TSR_F16}, {"float16", TSR_F16},
        {"q8", TSR_GGML_Q8_0}, {"q8_0", TSR_GGML_Q8_0}, {NULL, 0}};
    *options = (tsr_model_options){.struct_size = sizeof *options,
                                   .context = app->context,
                                   .lora = app->loras.items,
                                   .n_lora = (uint32_t)app->loras.n,
                                   .vectors = app->vectors,
                                   .task = app->task,
                                   .progress = show_progress,
                                   .progress_data = app};
    int code =
        word_of("dtype", app->dtype_name, dtypes, "f32, f16, bf16, q8 or q4", &options->dtype);
    if (code == CLI_OK)
        code = word_of("kv-dtype", app->kv_dtype_name, kv_dtypes, "f32, f16 or q8",
                       &options->kv_dtype);
    if (code == CLI_OK)
        code = word_of("compute", app->compute_name, computes, "auto, f32, f16, bf16 or int8",
                       &options->compute);
    return code;
}

int tsri_cli_take_model(tsri_cli_app *app, const tsri_cli_list *operands, size_t first) {
    if (operands->n > first + (app->model_name ? 0 : 1))
        return tsri_cli_fail(CLI_USAGE, "%s: give only one model",
                             operands->items[operands->n - 1]);
    if (operands->n > first)
        app->model_name = operands->items[first];
    return CLI_OK;
}

/* Ranks may have found different files under the same name. */
static int compare_models(tsri_cli_app *app) {
    char hex[65] = "", line[160];
    tsr_status status = tsr_model_fingerprint(app->model, hex);
    snprintf(line, sizeof line,
             "the model's hash (weights, adapters, config and tokenizer files)\t%s\n", hex);
    if (status == TSR_OK)
        status = tsr_ranks_compare(app->ranks, line);
    return tsri_cli_status(status);
}

int tsri_cli_open_model(tsri_cli_app *app) {
    tsr_model_options options;
    int code = tsri_cli_model_settings(app, &options);
    if (code == CLI_OK)
        code = tsri_cli_open_device(app);
    if (code != CLI_OK)
        return code;
    options.ranks = app->split_layers ? app->ranks : NULL;
    const tsr_status status = tsr_model_open(app->model_name, app->device, &options, &app->model);
    tsri_cli_clear_progress(app);
    code = tsri_cli_run_status(status);
    return code == CLI_OK && app->ranks ? compare_models(app) : code;
}

/* ---- profile ---- */

static void profile_line(const tsr_profiled *entry) {
    fprintf(stderr, "%10.3f ms %8llu launches %9.2f us each  enqueue %7.3f ms  %-12s %s\n",
            (double)entry->nanoseconds * 1e-6, (unsigned long long)entry->launches,
            entry->launches ? (double)entry->nanoseconds * 1e-3 / (double)entry->launches : 0.0,
            (double)entry->enqueue_nanoseconds * 1e-6, entry->op, entry->kernel);
}

static void profile_json(json_t *all, const tsr_profiled *entry) {
    tsri_cli_json_append(
        all, json_pack("{s:o,s:s,s:s,s:I,s:I,s:I}", "device", tsri_cli_json_string(entry->device),
                       "op", entry->op, "kernel", entry->kernel, "launches",
                       (json_int_t)entry->launches, "nanoseconds", (json_int_t)entry->nanoseconds,
                       "enqueue_nanoseconds", (json_int_t)entry->enqueue_nanoseconds));
}

void tsri_cli_profiled(void *data, const tsr_profiled *entry) {
    tsri_cli_app *app = data;
    if (*app->profile) {
        app->profiled = app->profiled ? app->profiled : json_array();
        profile_json(app->profiled, entry);
        return;
    }
    if (!app->profiled_lines++) {
        fputs("profile", stderr);
        if (app->n_ranks > 1)
            fprintf(stderr, " of rank %" PRIu32, app->rank);
        fputs(": device time by op and kernel\n", stderr);
    }
    profile_line(entry);
}

/* The file of this rank's profile, in new memory; NULL: there is too little. */
static char *profile_path(const tsri_cli_app *app) {
    char *path = NULL;
    if (!app->rank)
        return strdup(app->profile);
    return asprintf(&path, "%s.rank%" PRIu32, app->profile, app->rank) < 0 ? NULL : path;
}

static int write_profile(tsri_cli_app *app) {
    int code =
        app->model ? tsri_cli_status(tsr_profile(app->model, tsri_cli_profiled, app)) : CLI_OK;
    json_t *all = app->profiled;
    size_t n = 0;
    char *text = code == CLI_OK && all ? tsri_cli_json_dump(app, all, JSON_INDENT(1), &n) : NULL;
    char *path = text ? profile_path(app) : NULL;
    FILE *file = path ? fopen(path, "w") : NULL;
    bool written = file && fwrite(text, 1, n, file) == n;
    written &= file && fclose(file) == 0;
    if (text && !written)
        code = path ? tsri_cli_fail(CLI_FILE, "%s: the profile could not be written", path)
                    : tsri_cli_fail(CLI_OTHER, "out of memory");
    free(path);
    free(text);
    json_decref(all);
    return code;
}

/* Tells the other ranks why this one ends before its work is done. */
static void leave_ranks(tsri_cli_app *app, int code) {
    char stopped[48];
    snprintf(stopped, sizeof stopped, "stopped by SIG%s",
             tsri_system_signal_name(tsri_cli_signal()));
    if (tsri_cli_signal())
        tsr_ranks_leave(app->ranks, TSR_E_CANCELLED, stopped);
    else
        tsr_ranks_leave(app->ranks, code == CLI_DEVICE ? TSR_E_DEVICE : TSR_E_PEER,
                        tsri_cli_failure());
}

int tsri_cli_refuse_profile(const tsri_cli_app *app, const char *command) {
    return app->profile ? tsri_cli_fail(CLI_USAGE,
                                        "--profile: %s measures by itself, and a profile would "
                                        "change what it measures; leave it out",
                                        command)
                        : CLI_OK;
}

int tsri_cli_close(tsri_cli_app *app, int code) {
    tsri_cli_flush(app);
    if (app->profile) {
        const int written = write_profile(app);
        code = code == CLI_OK ? written : code;
    }
    tsr_model_close(&app->model);
    tsr_device_close(&app->device);
    tsr_engine_destroy(&app->engine);
    const bool done =
        code == CLI_OK || code == CLI_HELP || code == CLI_MISS || app->stopped_together;
    if (!done)
        leave_ranks(app, code);
    const tsr_status parted = tsr_ranks_close(&app->ranks);
    if (done) /* the exit code stays that of the work */
        (void)tsri_cli_status(parted);
    free(app->own_device);
    free(app->backends.items);
    free(app->loras.items);
    tsri_cli_watch_end();
    if (tsri_cli_signal())
        return 128 + tsri_cli_signal();
    code = code == CLI_HELP ? CLI_OK : code;
    return code == CLI_OK && app->write_failed ? CLI_OTHER : code;
}
