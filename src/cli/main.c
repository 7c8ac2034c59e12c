/* cli/main.c - the table of commands. */
#include "cli/base/app.h"
#include "cli/base/suggest.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
#define COMMAND(name, function, about) {name, about, tsri_cli_##function},
#include "cli/commands/commands.def"
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const struct {
    const char *name, *about;
} variables[] = {
    {"TESSERA_DEVICE", "the device of commands without --device"},
    {"TESSERA_BUNDLE", "as --bundle FOLDER: built kernels, for devices that can't compile"},
    {"TESSERA_MODELS", "folders of models by name, with ':' between; before the bundled ones"},
    {"TESSERA_RECIPES", "the folder of recipes of tessera train"},
    {"TESSERA_CACHE", "where built kernels and answers of self-tests are kept"},
    {"TESSERA_BACKEND_PATH", "folders of backend plugins, with ':' between"},
    {"TESSERA_KERNEL_PATH", "kernels' sources are read from this folder, and nothing is cached"},
    {"TESSERA_CHAIN", "0: each kernel is a launch of its own; 1: chains wherever they run"},
    {"TESSERA_PROBE", "the helper program that tries drivers and instructions"},
    {"TESSERA_PROBE_SECONDS", "how long it may compute, or stand still (30)"},
    {"TESSERA_TRUST_DRIVERS", "1: drivers are loaded without being tried by the helper first"},
    {"POCL_DEVICES", "pocl's devices; and other settings of pocl, as it tells them"},
    {"POCL_CACHE_DIR", "pocl's own cache; beside Tessera's without it"},
    {"OCL_ICD_VENDORS", "the OpenCL loader's: where it finds drivers"},
    {"RUSTICL_ENABLE", "Mesa's: which of its drivers give devices"},
    {"XDG_CACHE_HOME", "the cache is in tessera there, in ~/.cache/tessera without it"},
    {"XDG_DATA_HOME", "models are in tessera/models there, in ~/.local/share/.. without it"},
    {"HOME", "the home folder that both begin with"},
    {"TMPDIR", "tokens of data that are trained without a folder of results; /tmp without it"}};

static int help_environment(void) {
    puts("Environment variables that tessera reads:\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("  %-22s %s\n", variables[i].name, variables[i].about);
    return CLI_OK;
}

static void help(FILE *to) {
    fputs("Tessera runs and proves transformers on any OpenCL device.\n\nusage: tessera COMMAND "
          "[options]\n\n",
          to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    fputs(
        "\ntessera help COMMAND tells the options of one, tessera help environment the variables.\n"
        "\nexit codes:\n"
        "  0    fine\n"
        "  1    a check found a miss, or some lines could not be used; the others were\n"
        "  2    wrong usage\n"
        "  3    a file: it is missing, damaged, or not what is wanted\n"
        "  4    a device or its driver\n"
        "  5    anything else: memory, a full disk, a defect\n"
        "  130  Ctrl-C; 143 SIGTERM\n",
        to);
}

static const command *find(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int no_such(const char *name) {
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = tsri_cli_suggest_command(name, names, N_COMMANDS);
    return tsri_cli_fail(CLI_USAGE, "%s: no such command; tessera help lists them%s%s%s", name,
                         meant ? ". Did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

int main(int argc, char **argv) {
    tsri_cli_app none = {0};
    tsri_cli_catch_signals(tsri_cli_watch_signal);
    if (argc < 2) {
        help(stderr);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "version")) {
        puts("tessera " TESSERA_VERSION);
        return tsri_cli_close(&none, CLI_OK);
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") ||
        (!strcmp(argv[1], "help") && argc == 2)) {
        help(stdout);
        return tsri_cli_close(&none, CLI_OK);
    }
    const bool asked = !strcmp(argv[1], "help");
    if (asked && !strcmp(argv[2], "environment"))
        return tsri_cli_close(&none, help_environment());
    const command *found = find(argv[asked ? 2 : 1]);
    if (!found)
        return no_such(argv[asked ? 2 : 1]);
    if (asked) {
        char flag[] = "--help", *just_help[] = {argv[2], flag, NULL};
        return found->run(2, just_help);
    }
    return found->run(argc - 1, argv + 1);
}
