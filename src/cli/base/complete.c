/* cli/base/complete.c - prints the candidates for a word, a line each: options from the tables,
 * and their values by what the tables call them. The lines ":files" and ":folders" ask the shell
 * for names of files or folders. */
#include "cli/base/complete.h"

#include "cli/base/app.h"
#include "cli/base/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *word;   /* the one to complete; of --name=value, the value */
    const char *before; /* the option of which it is the value, "--model"; "": of none */
    bool joined;        /* a '=' stands between the two */
    const char *lead;   /* where the shell passes --name=value as one word, that word: each */
    int lead_size;      /* candidate begins with so many bytes of it, "--name=" */
    char option[CLI_NAME_ROOM + 2];
} now;

/* Zsh and fish pass --name=value as one word, bash as three. */
void tsri_cli_complete_begin(const char *const *words, size_t n) {
    now.word = n ? words[n - 1] : "";
    now.before = n > 1 ? words[n - 2] : "";
    now.lead_size = 0;
    const char *equals = strncmp(now.word, "--", 2) ? NULL : strchr(now.word, '=');
    now.joined = equals || !strcmp(now.word, "=") || !strcmp(now.before, "=");
    if (equals) {
        now.lead = now.word;
        now.lead_size = (int)(equals + 1 - now.word);
        snprintf(now.option, sizeof now.option, "%.*s", now.lead_size - 1, now.word);
        now.before = now.option;
        now.word = equals + 1;
    } else if (!strcmp(now.word, "=")) {
        now.word = "";
    } else if (n > 2 && now.joined) {
        now.before = words[n - 3];
    }
}

void tsri_cli_complete_offer(const char *candidate, const char *about) {
    if (!strncmp(candidate, now.word, strlen(now.word)))
        printf("%.*s%s\t%.*s\n", now.lead_size, now.lead_size ? now.lead : "", candidate,
               (int)strcspn(about, "\n"), about);
}

/* ---- values ---- */

static void model(void *data, const char *name, const char *path) {
    (void)data;
    tsri_cli_complete_offer(name, path);
}

static void found(void *data, const tsr_model_found *one) {
    model(data, one->name, one->path);
}

static void models(void) {
    tsr_model_list(found, NULL);
    puts(":files");
}

static void devices(void) {
    tsri_cli_app app = {.quiet = true};
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
        }
    tsri_cli_close(&app, CLI_OK);
}

static void ops(void) {
    const char *name;
    for (size_t i = 0; (name = tsr_verify_op_name(i)); i++)
        tsri_cli_complete_offer(name, "op");
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
} values[] = {{"MODEL", models},      {"D", devices},      {"OP=", ops},     {"OP", ops},
              {"NAME|FILE", recipes}, {"FOLDER", folders}, {"OUT", folders}, {"FILE", files},
              {"E.npy", files},       {"TESSERA", files},  {"LOG", files},   {"DATA", files},
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

/* True where `given`, with its dashes, is this option. */
static bool is(const tsri_cli_option *o, const char *given) {
    if (given[0] != '-')
        return false;
    if (given[1] != '-')
        return o->letter && given[1] == o->letter && !given[2];
    const char *at = o->names;
    for (char name[CLI_NAME_ROOM]; tsri_cli_next_name(&at, name);)
        if (!strcmp(given + 2, name))
            return true;
    return false;
}

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
    const char *typed = now.word;
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
