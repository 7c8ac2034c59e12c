/* cli/main.c - runs the command that is named on the command line, and prints the overview and the
 * list of environment variables. */
#include "base/system/paths.h"
#include "base/system/system.h"
#include "cli/base/app.h"
#include "cli/base/build.h"
#include "cli/base/man.h"
#include "cli/base/suggest.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *about;
} variables[] = {
    {"TESSERA_DEVICE", "the device that is used where --device is not given"},
    {"TESSERA_BUNDLE", "the folder of built kernels that is used where --bundle is not given"},
    {"TESSERA_MODELS",
     "folders in which -m NAME is looked up first, separated by '" TSRI_SYSTEM_BETWEEN_FOLDERS "'"},
    {"TESSERA_PEERS",
     "the folder of the engines that tessera bench suite --peer runs (tools/peers)"},
    {"TESSERA_RECIPES", "the folder in which tessera train --recipe NAME is looked up"},
    {"TESSERA_CACHE", "the folder where built kernels and self-test results are cached"},
    {"TESSERA_BACKEND_PATH",
     "folders of backend plugins, separated by '" TSRI_SYSTEM_BETWEEN_FOLDERS "'"},
    {"TESSERA_TRANSPORT_PATH",
     "folders of transport plugins, separated by '" TSRI_SYSTEM_BETWEEN_FOLDERS "'"},
    {"TESSERA_KERNEL_PATH",
     "the folder from which kernel sources are read; nothing is cached then"},
    {"TESSERA_CHAIN", "0: never put several kernels into one launch; 1: do so wherever possible"},
    {"TESSERA_COMMAND_BUFFERS",
     "0: enqueue each kernel by itself; 2: record launches on all devices (1: on GPUs)"},
    {"TESSERA_PROBE", "the helper program that tries out drivers and CPU instructions"},
    {"TESSERA_PROBE_SECONDS",
     "how many seconds the helper may compute, or make no progress (30; 120 to build kernels)"},
    {"TESSERA_TRUST_DRIVERS", "1: load drivers without trying them out in the helper first"},
    {"POCL_KERNEL_CACHE",
     "pocl's: 0: it caches no kernels, and then none are built ahead of their use"},
    {"POCL_DEVICES", "pocl's: which devices it offers; pocl's other variables work as well"},
    {"POCL_CACHE_DIR", "pocl's: the folder of its own cache (default: in Tessera's cache)"},
    {"OMPI_COMM_WORLD_SIZE", "mpirun's: above 1, this process is one of several ranks"},
    {"PMI_SIZE", "the same, of mpiexec of MPICH"},
    {"SLURM_STEP_NUM_TASKS", "the same, of srun"},
    {"OCL_ICD_VENDORS", "the OpenCL loader's: where it looks for drivers"},
    {"RUSTICL_ENABLE", "Mesa's: which of its drivers offer OpenCL devices"},
    {"ROCR_VISIBLE_DEVICES", "read by ROCm, like GPU_DEVICE_ORDINAL: which GPUs it exposes"},
    {"GPU_DEVICE_ORDINAL", "read by ROCm for OpenCL and HIP: which GPUs it exposes"},
    {"HF_HUB_CACHE", "Hugging Face's cache of models (default: HF_HOME/hub)"},
    {"HUGGINGFACE_HUB_CACHE", "the older name of HF_HUB_CACHE; ignored if HF_HUB_CACHE is set"},
    {"HF_HOME", "Hugging Face's home folder; its cache of models is HF_HOME/hub (default: "
                "$XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface)"},
    {"LLAMA_CACHE",
     "llama.cpp's cache of models (default: $XDG_CACHE_HOME/llama.cpp, else ~/.cache/llama.cpp)"},
    {"OLLAMA_MODELS", "Ollama's models (default: ~/.ollama/models)"},
    {"XDG_CACHE_HOME", "caches are in its subfolders, ours in tessera (default: ~/.cache)"},
    {"XDG_DATA_HOME", "models are in its subfolder tessera/models (default: ~/.local/share)"},
    {"HOME", "the folder in which both defaults lie"},
    {"TMPDIR", "where the tokens of a training run without -o are kept (default: /tmp)"}};

static int help_environment(void) {
    puts("Environment variables that tessera reads:\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("  %-22s %s\n", variables[i].name, variables[i].about);
    return CLI_OK;
}

static const struct {
    const char *code, *meaning;
} codes[] = {
    {"0", "success"},
    {"1", "a check failed, or some lines could not be used; the others were"},
    {"2", "wrong usage"},
    {"3", "a file is missing, damaged, of the wrong kind, or could not be written"},
    {"4", "a device or its driver failed; of several ranks, that of one of them"},
    {"5", "anything else: out of memory, standard output could not be written, another rank failed "
          "or is gone, a bug in Tessera"},
    {"130", "stopped by Ctrl-C; 143: by SIGTERM"}};

#define ABOUT "Tessera runs and trains transformers on any OpenCL device."

static void help(FILE *to) {
    fputs(ABOUT "\n\nusage: tessera COMMAND [options]\n\n", to);
    for (const tsri_cli_command *c = tsri_cli_commands; c->name; c++)
        fprintf(to, "  %-10s %s\n", c->name, c->about);
    fputs("\ntessera help COMMAND lists a command's options, tessera help environment the "
          "variables.\n\nexit codes:\n",
          to);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        fprintf(to, "  %-4s %s\n", codes[i].code, codes[i].meaning);
}

/* ---- manual pages ---- */

static void overview_page(void) {
    char name[64];
    tsri_cli_man_begin("tessera", "run, train, prove and measure transformers on OpenCL devices");
    tsri_cli_man_section("SYNOPSIS");
    tsri_cli_man_text("tessera COMMAND [options]");
    tsri_cli_man_section("DESCRIPTION");
    tsri_cli_man_text(ABOUT " Each command has a page of its own.");
    tsri_cli_man_section("COMMANDS");
    for (const tsri_cli_command *c = tsri_cli_commands; c->name; c++) {
        snprintf(name, sizeof name, "tessera-%s(1)", c->name);
        tsri_cli_man_entry(name, c->about);
    }
    tsri_cli_man_section("ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        tsri_cli_man_entry(variables[i].name, variables[i].about);
    tsri_cli_man_section("EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        tsri_cli_man_entry(codes[i].code, codes[i].meaning);
}

static int page_of(const tsri_cli_command *command, const tsri_cli_verb *verb) {
    char name[64];
    const bool own = verb && verb->run;
    snprintf(name, sizeof name, "tessera-%s%s%s", command->name, own ? "-" : "",
             own ? verb->word : "");
    tsri_cli_man_begin(name, own ? verb->about : command->about);
    tsri_cli_help_as(&tsri_cli_man);
    const int code = tsri_cli_help_of(command, verb);
    if (code != CLI_OK)
        return code;
    tsri_cli_man_section("SEE ALSO");
    puts("tessera(1), whose page has the exit codes and the environment variables");
    return fflush(stdout) == 0 ? CLI_OK : CLI_FILE;
}

/* `typed` is neither a command nor an option; after "tessera help", not a topic of help either. */
static int no_such(const char *typed, bool help_asked) {
    static const char *const flags[] = {"--version", "--help"};
    const char *names[64] = {"environment"};
    const bool flag = typed[0] == '-';
    size_t n = 1;
    for (const tsri_cli_command *c = tsri_cli_commands; c->name && n < 64; c++)
        names[n++] = c->name;
    const char *meant = flag
                            ? tsr_name_nearest(typed, flags, sizeof flags / sizeof *flags)
                            : tsri_cli_suggest_command(typed, names + !help_asked, n - !help_asked);
    return tsri_cli_fail(CLI_USAGE, "%s%s: no such %s%s%s%s", help_asked ? "help " : "", typed,
                         flag         ? "option; tessera help lists the commands"
                         : help_asked ? "command or topic; tessera help lists them"
                                      : "command; tessera help lists them",
                         meant ? ". Did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

/* The version, and how this program was built. */
static void version(void) {
    const tsri_cli_build *b = &tsri_cli_built;
    printf("tessera %s (%s%s%s%s, %s)\n", tsr_version(), *b->commit ? "commit " : "", b->commit,
           *b->commit ? ", " : "", b->type, b->compiler);
}

/* tessera help [--man] [COMMAND [VERB] | environment] */
static int help_topic(int argc, char **argv) {
    tsri_cli_app none = {0};
    const bool man = argc > 0 && !strcmp(argv[0], "--man");
    argc -= man;
    argv += man;
    if (!argc) {
        if (man)
            overview_page();
        else
            help(stdout);
        return tsri_cli_close(&none, CLI_OK);
    }
    if (!man && !strcmp(argv[0], "environment"))
        return tsri_cli_close(&none, help_environment());
    const tsri_cli_command *command = tsri_cli_find_command(argv[0]);
    if (!command)
        return no_such(argv[0], true);
    const tsri_cli_verb *verb = argc > 1 ? tsri_cli_find_verb(argv[0], argv[1]) : NULL;
    if (argc > 1 && !verb)
        return tsri_cli_fail(CLI_USAGE, "help %s %s: %s has no such verb; see tessera help %s",
                             argv[0], argv[1], argv[0], argv[0]);
    return man ? page_of(command, verb) : tsri_cli_help_of(command, verb);
}

int main(int argc, char **argv) {
    tsri_cli_app none = {0};
    tsri_system_begin(&argc, &argv);
    tsri_cli_catch_signals(tsri_cli_watch_signal);
    if (argc < 2) {
        help(stderr);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "version")) {
        version();
        return tsri_cli_close(&none, CLI_OK);
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
        return help_topic(0, argv);
    if (!strcmp(argv[1], "help"))
        return help_topic(argc - 2, argv + 2);
    const tsri_cli_command *found = tsri_cli_find_command(argv[1]);
    return found ? found->run(argc - 1, argv + 1) : no_such(argv[1], false);
}
