/* cli/main.c - runs the command that is named on the command line, and prints the overview and the
 * list of environment variables. */
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
    {"TESSERA_DEVICE", "the device that is used where --device is not given"},
    {"TESSERA_BUNDLE", "the folder of built kernels that is used where --bundle is not given"},
    {"TESSERA_MODELS", "folders in which -m NAME is looked up first, separated by ':'"},
    {"TESSERA_PEERS",
     "the folder of the engines that tessera bench suite --peer runs (tools/peers)"},
    {"TESSERA_RECIPES", "the folder in which tessera train --recipe NAME is looked up"},
    {"TESSERA_CACHE", "the folder where built kernels and self-test results are cached"},
    {"TESSERA_BACKEND_PATH", "folders of backend plugins, separated by ':'"},
    {"TESSERA_KERNEL_PATH",
     "the folder from which kernel sources are read; nothing is cached then"},
    {"TESSERA_CHAIN", "0: never put several kernels into one launch; 1: do so wherever possible"},
    {"TESSERA_COMMAND_BUFFERS",
     "0: enqueue each kernel by itself; 2: record launches on all devices (1: on GPUs)"},
    {"TESSERA_PROBE", "the helper program that tries out drivers and CPU instructions"},
    {"TESSERA_PROBE_SECONDS", "how many seconds the helper may compute, or make no progress (30; 120 to build kernels)"},
    {"TESSERA_TRUST_DRIVERS", "1: load drivers without trying them out in the helper first"},
    {"POCL_KERNEL_CACHE", "pocl's: 0: it keeps no kernels, so the helper builds none ahead"},
    {"POCL_DEVICES", "pocl's: which devices it offers; pocl's other variables work as well"},
    {"POCL_CACHE_DIR", "pocl's: the folder of its own cache (default: in Tessera's cache)"},
    {"OCL_ICD_VENDORS", "the OpenCL loader's: where it looks for drivers"},
    {"RUSTICL_ENABLE", "Mesa's: which of its drivers offer OpenCL devices"},
    {"ROCR_VISIBLE_DEVICES", "ROCm's, as GPU_DEVICE_ORDINAL: which devices it offers"},
    {"GPU_DEVICE_ORDINAL", "ROCm's, for OpenCL and HIP: which devices it offers"},
    {"XDG_CACHE_HOME", "the cache is in its subfolder tessera (default: ~/.cache)"},
    {"XDG_DATA_HOME", "models are in its subfolder tessera/models (default: ~/.local/share)"},
    {"HOME", "the folder in which both defaults lie"},
    {"TMPDIR", "where the tokens of a training run without -o are kept (default: /tmp)"}};

static int help_environment(void) {
    puts("Environment variables that tessera reads:\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("  %-22s %s\n", variables[i].name, variables[i].about);
    return CLI_OK;
}

static void help(FILE *to) {
    fputs("Tessera runs and trains transformers on any OpenCL device.\n\nusage: tessera COMMAND "
          "[options]\n\n",
          to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    fputs("\ntessera help COMMAND lists a command's options, tessera help environment the "
          "variables.\n"
          "\nexit codes:\n"
          "  0    success\n"
          "  1    a check failed, or some lines could not be used; the others were\n"
          "  2    wrong usage\n"
          "  3    a file is missing, damaged, or of the wrong kind\n"
          "  4    a device or its driver failed\n"
          "  5    anything else: out of memory, a full disk, a bug in Tessera\n"
          "  130  stopped by Ctrl-C; 143: by SIGTERM\n",
          to);
}

static const command *find(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

/* `typed` is neither a command nor an option; after "tessera help", not a topic of help either. */
static int no_such(const char *typed, bool help_asked) {
    static const char *const flags[] = {"--version", "--help"};
    const char *names[N_COMMANDS + 1] = {"environment"};
    const bool flag = typed[0] == '-';
    for (int i = 0; i < N_COMMANDS; i++)
        names[i + 1] = commands[i].name;
    const char *meant =
        flag ? tsr_name_nearest(typed, flags, sizeof flags / sizeof *flags)
             : tsri_cli_suggest_command(typed, names + !help_asked, N_COMMANDS + help_asked);
    return tsri_cli_fail(CLI_USAGE, "%s%s: no such %s%s%s%s", help_asked ? "help " : "", typed,
                         flag         ? "option; tessera help lists the commands"
                         : help_asked ? "command or topic; tessera help lists them"
                                      : "command; tessera help lists them",
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
        return no_such(argv[asked ? 2 : 1], asked);
    if (asked) {
        char flag[] = "--help", *just_help[] = {argv[2], flag, NULL};
        return found->run(2, just_help);
    }
    return found->run(argc - 1, argv + 1);
}
