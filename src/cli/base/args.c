/* cli/base/args.c - parses a command's options by its tables. */
#include "cli/base/args.h"

#include "cli/base/help.h"
#include "cli/base/names.h"
#include "cli/base/suggest.h"
#include "tessera/status.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 96 };

void tsri_cli_say(const char *mark, const char *format, va_list args) {
    char *line = NULL;
    const int n = vasprintf(&line, format, args);
    if (n < 0)
        return;
    line[tsr_plain_text(line, (size_t)n)] = 0;
    fprintf(stderr, "tessera: %s%s\n", mark, line);
    free(line);
}

static _Thread_local char failure[1024];

static void fail(const char *mark, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    tsri_cli_say(mark, format, args);
    vsnprintf(failure, sizeof failure, format, again);
    va_end(again);
}

int tsri_cli_fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail("", format, args);
    va_end(args);
    return code;
}

int tsri_cli_fail_as(const char *mark, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(mark, format, args);
    va_end(args);
    return code;
}

const char *tsri_cli_failure(void) {
    return failure;
}

int tsri_cli_append(tsri_cli_list *list, const char *item) {
    const char **grown = realloc(list->items, (list->n + 1) * sizeof *grown);
    if (!grown)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    list->items = grown;
    list->items[list->n++] = item;
    return CLI_OK;
}

/* The dashes of an option as it was typed: one before a letter, two before a name. */
static const char *dashes(const char *name) {
    return name[0] && name[1] ? "--" : "-";
}

/* Writes whole numbers below 10^12 in full, other numbers in short form. */
static void format_limit(char *to, size_t room, double limit) {
    const bool whole = limit == floor(limit) && fabs(limit) < 1e12;
    snprintf(to, room, whole ? "%.0f" : "%g", limit);
}

static int take_number(const tsri_cli_option *o, const char *name, const char *text) {
    char *end;
    errno = 0;
    const double value = o->kind == CLI_INT ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    if (!*text || *end || errno || isnan(value) || value < o->lowest || value > o->highest) {
        char range[96], lowest[32], highest[32];
        format_limit(lowest, sizeof lowest, o->lowest);
        format_limit(highest, sizeof highest, o->highest);
        if (o->highest < 1e15)
            snprintf(range, sizeof range, " from %s to %s", lowest, highest);
        else
            snprintf(range, sizeof range, " of %s or more", lowest);
        return tsri_cli_fail(CLI_USAGE, "%s%s %s: give %s%s", dashes(name), name, text,
                             o->kind == CLI_INT ? "a whole number" : "a number", range);
    }
    if (o->kind == CLI_INT)
        *(int64_t *)o->out = strtoll(text, NULL, 10);
    else
        *(float *)o->out = (float)value;
    return CLI_OK;
}

/* True for "-" given to a file option whose help does not name standard input. */
static bool is_no_file(const tsri_cli_option *o, const char *text) {
    static const char *const files[] = {"FILE", "FOLDER", "MODEL", "E.npy", "OUT", "NAME|FILE"};
    bool file = false;
    for (size_t i = 0; o->value && i < sizeof files / sizeof *files; i++)
        file = file || !strncmp(o->value, files[i], strlen(files[i]));
    return file && text && !strcmp(text, "-") && !strstr(o->help, "standard input");
}

static int take_word(const tsri_cli_option *o, const char *name, const char *text) {
    const char *at = o->value, *comma = "";
    char words[128] = "";
    size_t n = 0;
    for (char word[CLI_NAME_ROOM]; tsri_cli_next_name(&at, word);
         comma = strchr(at, '|') ? ", " : " or ") {
        if (!strcmp(word, text)) {
            *(const char **)o->out = text;
            return CLI_OK;
        }
        n += n < sizeof words ? (size_t)snprintf(words + n, sizeof words - n, "%s%s", comma, word)
                              : 0;
    }
    return tsri_cli_fail(CLI_USAGE, "%s%s %s: give %s", dashes(name), name, text, words);
}

static int take(const tsri_cli_option *o, const char *name, const char *text) {
    char *end;
    if (is_no_file(o, text))
        return tsri_cli_fail(
            CLI_USAGE, "%s%s -: standard input and output cannot be used for %s here; give a name",
            dashes(name), name, o->value);
    if (o->given)
        *o->given = true;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)o->out = true;
        return CLI_OK;
    case CLI_TEXT:
        *(const char **)o->out = text;
        return CLI_OK;
    case CLI_WORD:
        return take_word(o, name, text);
    case CLI_MAYBE:
        *(const char **)o->out = text ? text : "";
        return CLI_OK;
    case CLI_LIST:
        return tsri_cli_append(o->out, text);
    case CLI_SEED:
        errno = 0;
        *(uint64_t *)o->out = strtoull(text, &end, 10);
        return *text && !*end && !errno && *text != '-'
                   ? CLI_OK
                   : tsri_cli_fail(CLI_USAGE, "%s%s %s: give a whole number from 0 to 2^64 - 1",
                                   dashes(name), name, text);
    default:
        return take_number(o, name, text);
    }
}

typedef struct built { /* what getopt_long takes */
    struct option longs[MOST * 2];
    const tsri_cli_option *of[MOST * 2];
    char names[MOST * 2][CLI_NAME_ROOM], letters[MOST * 3];
    int n;
} built;

static void build(built *b, const tsri_cli_option *const *tables) {
    char *letter = b->letters;
    *letter++ = ':'; /* getopt_long reports a missing value as ':', and we print the message */
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++) {
            const int wants = o->kind == CLI_FLAG    ? no_argument
                              : o->kind == CLI_MAYBE ? optional_argument
                                                     : required_argument;
            if (o->letter) {
                *letter++ = o->letter;
                if (wants == required_argument)
                    *letter++ = ':';
            }
            const char *at = o->names;
            while (b->n < MOST * 2 - 1 && tsri_cli_next_name(&at, b->names[b->n])) {
                b->longs[b->n] = (struct option){b->names[b->n], wants, NULL, 256 + b->n};
                b->of[b->n++] = o;
            }
        }
    *letter++ = 'h';
    *letter = 0;
    b->longs[b->n] = (struct option){"help", no_argument, NULL, 'h'};
}

static const tsri_cli_option *by_letter(const tsri_cli_option *const *tables, int letter) {
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++)
            if (o->letter == letter)
                return o;
    return NULL;
}

/* The element of argv from which getopt_long just took an option. In the middle of "-abc", optind
 * still points at that element. */
static const char *element(int argc, char **argv, int letter) {
    const char *next = optind < argc ? argv[optind] : "";
    if (next[0] == '-' && next[1] != '-' && next[1] == letter)
        return next;
    return optind > 0 && optind <= argc ? argv[optind - 1] : "";
}

static int no_such(const char *given, const char *command, const tsri_cli_option *const *tables) {
    char meant[128];
    if (tsri_cli_suggest_option(given, tables, meant, sizeof meant))
        return tsri_cli_fail(CLI_USAGE, "%s: no such option; see tessera help %s. Did you mean %s?",
                             given, command, meant);
    return tsri_cli_fail(CLI_USAGE, "%s: no such option; see tessera help %s", given, command);
}

static int take_options(int argc, char **argv, const built *b, const char *usage, const char *about,
                        const tsri_cli_option *const *tables) {
    int status = CLI_OK, c;
    opterr = 0;
    optind = 1;
    while (status == CLI_OK && (c = getopt_long(argc, argv, b->letters, b->longs, NULL)) != -1) {
        const char *given = element(argc, argv, c);
        if (tsri_cli_is_other_option(given)) {
            status = no_such(given, argv[0], tables);
        } else if (c == 'h') {
            tsri_cli_help()->page(usage, about, tables);
            status = CLI_HELP;
        } else if (c == ':') {
            status = tsri_cli_fail(CLI_USAGE, "%s: a value is missing; see tessera help %s", given,
                                   argv[0]);
        } else if (c == '?') {
            status = no_such(given, argv[0], tables);
        } else {
            const tsri_cli_option *o = c >= 256 ? b->of[c - 256] : by_letter(tables, c);
            char one[2] = {(char)c, 0};
            status = take(o, c >= 256 ? b->names[c - 256] : one, optarg);
        }
    }
    return status;
}

int tsri_cli_parse(int argc, char **argv, const char *usage, const char *about,
                   const tsri_cli_option *const *tables, tsri_cli_list *operands) {
    built *b = calloc(1, sizeof *b);
    if (!b)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    build(b, tables);
    int status = take_options(argc, argv, b, usage, about, tables);
    for (; status == CLI_OK && optind < argc; optind++) {
        if (!strcmp(argv[optind], "-") && !strstr(usage, "|-"))
            status = tsri_cli_fail(CLI_USAGE,
                                   "-: this command does not take \"-\" for standard input; see "
                                   "tessera help %s",
                                   argv[0]);
        else if (!operands)
            status = tsri_cli_fail(CLI_USAGE, "%s: %s takes no operands", argv[optind], argv[0]);
        else
            status = tsri_cli_append(operands, argv[optind]);
    }
    free(b);
    return status;
}

int tsri_cli_parse_ids(const char *option, const char *text, int32_t **ids, size_t *n) {
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',' || *c == ' ';
    *n = 0;
    *ids = calloc(room, sizeof **ids);
    if (!*ids)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (const char *at = text; *at;) {
        char *end;
        errno = 0;
        const long long id = strtoll(at, &end, 10);
        if (end == at || errno || id < 0 || id > INT32_MAX || (*end && *end != ',' && *end != ' '))
            return tsri_cli_fail(CLI_USAGE, "%s%s: give token ids separated by ','", option, text);
        (*ids)[(*n)++] = (int32_t)id;
        at = end + (*end != 0);
    }
    return CLI_OK;
}
