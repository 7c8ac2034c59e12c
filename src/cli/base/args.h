/* cli/base/args.h - options as tables: parsing, checking and --help all come from a command's
 * tables. */
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
    CLI_SEED, /* uint64_t; sets *given */
    CLI_REAL, /* float */
    CLI_TEXT, /* const char * */
    CLI_WORD, /* const char *: one of the words in `value`, "auto|plain|none" */
    CLI_LIST, /* tsri_cli_list: may be given several times */
    CLI_MAYBE /* const char *: --name gives "", --name=VALUE gives VALUE */
} tsri_cli_kind;

typedef struct tsri_cli_list {
    const char **items;
    size_t n;
} tsri_cli_list;

typedef struct tsri_cli_option {
    const char *names; /* "max-new-tokens|n-predict": long names; help shows the first */
    char letter;       /* 0: none */
    tsri_cli_kind kind;
    void *out;
    const char *value; /* "N" */
    const char *help;
    double lowest, highest; /* of CLI_INT and CLI_REAL */
    bool *given;            /* set to true where the option is given; may be NULL */
} tsri_cli_option;

/* Parses the command line by `tables`, which ends with NULL; each table ends with names == NULL.
 * argv[0] is the command as messages name it, "bench suite" with its verb.
 * Operands go to `operands`; it is NULL for a command that takes none. "-" is an operand where
 * `usage` has "|-", and a value of a file option where the option's help names standard input.
 * Returns CLI_OK, CLI_HELP (help was printed), or CLI_USAGE (the error was printed on stderr). */
int tsri_cli_parse(int argc, char **argv, const char *usage, const char *about,
                   const tsri_cli_option *const *tables, tsri_cli_list *operands);
/* Adds an item, which is borrowed. Returns an exit code. */
int tsri_cli_append(tsri_cli_list *list, const char *item);
/* Prints "tessera: ", the mark and the line on stderr, without bytes that control a terminal. */
__attribute__((format(PRINTF, 2, 0))) void tsri_cli_say(const char *mark, const char *format,
                                                        va_list args);
/* Prints such a line without a mark, and returns `code`. */
__attribute__((format(PRINTF, 2, 3))) int tsri_cli_fail(int code, const char *format, ...);
/* The same with a mark, which tsri_cli_failure leaves out. */
__attribute__((format(PRINTF, 3, 4))) int tsri_cli_fail_as(const char *mark, int code,
                                                           const char *format, ...);
/* What this thread's last tsri_cli_fail printed, up to 1,023 bytes of it; "" before the first. */
const char *tsri_cli_failure(void);

/* Parses "1,2,3" (or "1 2 3") into new memory. Returns CLI_USAGE where the text is not a list of
 * ids; the message begins with `option` ("--ids " or "") and the text. */
int tsri_cli_parse_ids(const char *option, const char *text, int32_t **ids, size_t *n);

#endif
