/* cli/base/args.h - options as tables: each command has rows, and parsing, checking and --help
 * come from them. */
#ifndef TESSERA_CLI_BASE_ARGS_H
#define TESSERA_CLI_BASE_ARGS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLI_OK = 0,
    CLI_MISS = 1,
    CLI_USAGE = 2,
    CLI_FILE = 3,
    CLI_DEVICE = 4,
    CLI_OTHER = 5,
    CLI_HELP = -1
};

typedef enum tsri_cli_kind {
    CLI_FLAG, /* bool */
    CLI_INT,  /* int64_t */
    CLI_SEED, /* uint64_t, and the flag behind `given` */
    CLI_REAL, /* float */
    CLI_TEXT, /* const char * */
    CLI_LIST, /* tsri_cli_list: may be given again and again */
    CLI_MAYBE /* const char *: --name, then "" ; or --name=VALUE */
} tsri_cli_kind;

typedef struct tsri_cli_list {
    const char **items;
    size_t n;
} tsri_cli_list;

typedef struct tsri_cli_option {
    const char *names; /* "max-new-tokens|n-predict": long names, the first is shown */
    char letter;       /* 0: none */
    tsri_cli_kind kind;
    void *out;
    const char *value; /* "N" */
    const char *help;
    double lowest, highest; /* of CLI_INT and CLI_REAL */
    bool *given;            /* set where the option is; may be NULL */
} tsri_cli_option;

/* Ends with names == NULL. Operands go to `operands`; "-" is one where `usage` has "|-", and the
 * value of an option for files where its help names standard input. CLI_OK, CLI_HELP (printed), or
 * CLI_USAGE (said on stderr). */
int tsri_cli_parse(int argc, char **argv, const char *usage, const char *about,
                   const tsri_cli_option *const *tables, tsri_cli_list *operands);
void tsri_cli_print_help(const char *usage, const char *about,
                         const tsri_cli_option *const *tables);
/* "tessera: ", a mark and a line on stderr, without what steers a terminal. */
__attribute__((format(printf, 2, 0))) void tsri_cli_say(const char *mark, const char *format,
                                                        va_list args);
/* Such a line; returns `code`. */
__attribute__((format(printf, 2, 3))) int tsri_cli_fail(int code, const char *format, ...);

/* "1,2,3" (or with blanks) into new memory; CLI_USAGE where it is no list of ids: the sentence
 * begins with `option` ("--ids " or "") and the text. */
int tsri_cli_parse_ids(const char *option, const char *text, int32_t **ids, size_t *n);

#endif
