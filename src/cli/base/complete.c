/* cli/base/complete.c - prints the candidates for a word, a line each: options from the tables,
 * and their values by what the tables call them. The lines ":files" and ":folders" ask the shell
 * for names of files or folders. */
#include "cli/base/complete.h"

#include "cli/base/app.h"
#include "cli/base/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENT = 4096 };

static struct {
    const char *const *words; /* [n] before the argument to complete */
    size_t n;
    char text[ARGUMENT]; /* that argument, as far as it has been typed: "--dtype=b" */
    size_t printed;     /* so many bytes of it are in words before the last, and stay as they are */
    size_t at;          /* where in it the value to complete begins */
    const char *before; /* the option whose value that is, "--dtype"; "": of none */
    bool joined;        /* the argument has the option and a '=', too */
    char option[CLI_NAME_ROOM + 2];
} now;

/* Bash makes words of their own of these: of --kernels=linear=packed it makes five. */
static bool parts_words(const char *word) {
    return *word && !word[strspn(word, "=:")];
}

void tsri_cli_complete_begin(const char *const *words, size_t n) {
    size_t first = n ? n - 1 : 0, used = 0;
    while (first > 1 && (parts_words(words[first]) || parts_words(words[first - 1])))
        first--;
    now.text[0] = '\0';
    now.printed = 0;
    for (size_t i = first; i < n && used < sizeof now.text; i++) {
        used += (size_t)snprintf(now.text + used, sizeof now.text - used, "%s", words[i]);
        if (i + 1 < n || (i > first && parts_words(words[i])))
            now.printed = strlen(now.text);
    }
    now.words = words;
    now.n = first;
    now.at = 0;
    now.before = first ? words[first - 1] : "";
    const char *equals = strncmp(now.text, "--", 2) ? NULL : strchr(now.text, '=');
    now.joined = equals != NULL;
    if (!equals)
        return;
    now.at = (size_t)(equals + 1 - now.text);
    snprintf(now.option, sizeof now.option, "%.*s", (int)now.at - 1, now.text);
    now.before = now.option;
}

/* What of the argument is in earlier words is not printed again. */
void tsri_cli_complete_offer(const char *candidate, const char *about) {
    const char *typed = now.text + now.at;
    if (strncmp(candidate, typed, strlen(typed)) != 0)
        return;
    if (now.printed > now.at)
        candidate += now.printed - now.at;
    if (*candidate)
        printf("%.*s%s\t%.*s\n", now.printed < now.at ? (int)(now.at - now.printed) : 0,
               now.text + now.printed, candidate, (int)strcspn(about, "\n"), about);
}

/* ---- values ---- */

static void model(void *data, const char *name, const char *path) {
    (void)data;
    tsri_cli_complete_offer(name, path);
}

static void found(void *data, const tsr_model_found *one) {
    if (!one->why)
        model(data, one->name, one->path);
}

static void models(void) {
    tsr_model_list(found, NULL);
    puts(":files");
}

/* Of a list such as "0,1" or "linear=packed,add=plain", the last entry is completed. */
static void last_entry(void) {
    const char *comma = strrchr(now.text + now.at, ',');
    if (comma)
        now.at = (size_t)(comma + 1 - now.text);
}

/* True where device i is the first usable one of its backend. */
static bool first_of_backend(const tsri_cli_app *app, size_t i, const tsr_device_info *info) {
    tsr_device_info before = {.struct_size = sizeof before};
    for (size_t d = 0; d < i; d++)
        if (tsr_device_info_get(app->engine, d, &before) == TSR_OK && before.facts.usable &&
            !strcmp(before.backend, info->backend))
            return false;
    return true;
}

static void devices(void) {
    tsri_cli_app app = {.quiet = true};
    last_entry();
    tsri_cli_complete_offer("cpu", "the best CPU");
    tsri_cli_complete_offer("gpu", "the best GPU");
    tsri_cli_complete_offer("accelerator", "the best accelerator");
    if (tsri_cli_open_engine(&app) == CLI_OK)
        for (size_t i = 0; i < tsr_device_count(app.engine); i++) {
            tsr_device_info info = {.struct_size = sizeof info};
            char number[24], name[320];
            if (tsr_device_info_get(app.engine, i, &info) != TSR_OK || !info.facts.usable)
                continue;
            snprintf(number, sizeof number, "%zu", i);
            snprintf(name, sizeof name, "%s / %s", info.facts.platform, info.facts.name);
            tsri_cli_complete_offer(number, name);
            if (first_of_backend(&app, i, &info))
                tsri_cli_complete_offer(info.backend, "the best device of this backend");
        }
    tsri_cli_close(&app, CLI_OK);
}

static void ops(void) {
    const char *name;
    for (size_t i = 0; (name = tsr_verify_op_name(i)); i++)
        tsri_cli_complete_offer(name, "op");
}

/* True where `word`, with its dashes, is this option. */
static bool is(const tsri_cli_option *o, const char *word) {
    if (word[0] != '-')
        return false;
    if (word[1] != '-')
        return o->letter && word[1] == o->letter && !word[2];
    const char *at = o->names;
    for (char name[CLI_NAME_ROOM]; tsri_cli_next_name(&at, name);)
        if (!strcmp(word + 2, name))
            return true;
    return false;
}

/* The value of an option that was given before the argument; NULL: it was not. */
static const char *given(const tsri_cli_option *o) {
    char name[sizeof now.option];
    for (size_t i = now.n; i-- > 1;) {
        const char *equals = strchr(now.words[i], '=');
        size_t value = i + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(now.words[i], "="), now.words[i]);
        if (!is(o, name))
            continue;
        if (equals)
            return equals + 1;
        if (value < now.n && parts_words(now.words[value]))
            value++;
        return value < now.n ? now.words[value] : NULL;
    }
    return NULL;
}

static void variant(void *data, const char *name, uint32_t fits) {
    if (fits)
        tsri_cli_complete_offer(name, data);
}

/* The kernel variants that the device, given or the default one, can run a case of the op on. */
static void variants_of(const char *op) {
    static const tsri_cli_option device = {.names = "device", .letter = 'd'};
    tsri_cli_app app = {.quiet = true, .no_self_test = true, .device_name = given(&device)};
    if (tsri_cli_open_device(&app) == CLI_OK)
        tsr_verify_variants(app.device, op, variant, "kernel variant");
    tsri_cli_close(&app, CLI_OK);
}

static void variants(void) {
    static const tsri_cli_option option = {.names = "op"};
    const char *op = given(&option);
    last_entry();
    if (op)
        variants_of(op);
}

/* "linear=packed": an op, then one of its kernel variants. */
static void kernels(void) {
    char op[CLI_NAME_ROOM];
    const char *name;
    last_entry();
    const char *typed = now.text + now.at, *equals = strchr(typed, '=');
    if (equals) {
        snprintf(op, sizeof op, "%.*s", (int)(equals - typed), typed);
        now.at = (size_t)(equals + 1 - now.text);
        variants_of(op);
        return;
    }
    for (size_t i = 0; (name = tsr_verify_op_name(i)); i++) {
        snprintf(op, sizeof op, "%s=", name);
        tsri_cli_complete_offer(op, "op");
    }
}

/* "chat=shakespeare": a model, behind the name that it is served by. */
static void named_models(void) {
    const char *equals = strchr(now.text + now.at, '=');
    if (equals)
        now.at = (size_t)(equals + 1 - now.text);
    models();
}

static void recipes(void) {
    tsr_train_recipes(model, NULL);
    puts(":files");
}

static void folders(void) {
    puts(":folders");
}

static void files(void) {
    puts(":files");
}

/* By the beginning of what the tables call a value; the first row that fits. */
static const struct {
    const char *value;
    void (*offer)(void);
} values[] = {{"MODEL", models},
              {"[NAME=]MODEL", named_models},
              {"D", devices},
              {"OP=", kernels},
              {"OP", ops},
              {"NAME[:TUNABLE", variants},
              {"NAME|FILE", recipes},
              {"FOLDER", folders},
              {"OUT", folders},
              {"FILE", files},
              {"E.npy", files},
              {"TESSERA", files},
              {"LOG", files},
              {"DATA", files},
              {"BEFORE", files}};

static bool ends(char c) {
    return !isalnum((unsigned char)c);
}

/* "f32|f16|auto": each word is a candidate. */
static bool offer_words(const char *value) {
    if (!strchr(value, '|') || strpbrk(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return false;
    for (char word[CLI_NAME_ROOM]; tsri_cli_next_name(&value, word);)
        tsri_cli_complete_offer(word, "");
    return true;
}

static void offer_value(const char *value) {
    if (offer_words(value))
        return;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const size_t n = strlen(values[i].value);
        if (!strncmp(value, values[i].value, n) &&
            (ends(values[i].value[n - 1]) || ends(value[n]))) {
            values[i].offer();
            return;
        }
    }
}

/* ---- options and operands ---- */

static void offer_option(const tsri_cli_option *o) {
    char text[80];
    snprintf(text, sizeof text, "--%.*s", (int)strcspn(o->names, "|"), o->names);
    tsri_cli_complete_offer(text, o->help);
    if (o->letter) {
        snprintf(text, sizeof text, "-%c", o->letter);
        tsri_cli_complete_offer(text, o->help);
    }
}

/* Offers what a usage names as an operand: its words in capitals that no option stands before. */
static void offer_operands(const char *usage) {
    bool of_an_option = false;
    for (const char *at = usage; *at && *at != '\n';) {
        at += strspn(at, " []()|.");
        const size_t n = strcspn(at, " ]()\n");
        if (n && at[0] != '-' && !of_an_option && isupper((unsigned char)at[0])) {
            offer_value(at);
            return;
        }
        of_an_option = n && at[0] == '-' && n > 1;
        at += n;
    }
}

static void page(const char *usage, const char *about, const tsri_cli_option *const *tables) {
    (void)about;
    const char *typed = now.text + now.at;
    for (const tsri_cli_option *const *t = tables; *t; t++)
        for (const tsri_cli_option *o = *t; o->names; o++)
            if (o->kind != CLI_FLAG && (o->kind != CLI_MAYBE || now.joined) && is(o, now.before)) {
                offer_value(o->value);
                return;
            }
    if (now.joined && now.before[0] == '-')
        return;
    if (typed[0] != '-') {
        offer_operands(usage);
        return;
    }
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++)
            offer_option(o);
    tsri_cli_complete_offer("--help", "print the options");
}

static void heading(const char *text) {
    (void)text;
}

/* The keys of --set. */
static void row(const char *name, const char *about, const char *taken, const char *initial) {
    (void)taken;
    (void)initial;
    if (strcmp(now.before, "--set"))
        return;
    char key[96];
    snprintf(key, sizeof key, "%s=", name);
    tsri_cli_complete_offer(key, about);
}

const tsri_cli_help_form tsri_cli_candidates = {page, heading, row};
