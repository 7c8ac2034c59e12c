/* cli/main.c - the table of commands. */
#include "cli/app.h"
#include "cli/suggest.h"

#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"generate", "continue text with a model", tsri_cli_generate},
    {"chat", "talk with an instruction model", tsri_cli_chat},
    {"translate", "lines from one language to another", tsri_cli_translate},
    {"embed", "a vector for each line of a text", tsri_cli_embed},
    {"search", "the lines nearest to a question, by their vectors", tsri_cli_search},
    {"cluster", "groups of similar lines", tsri_cli_cluster},
    {"classify", "labels of texts, of pairs, of what a text names", tsri_cli_classify},
    {"fill-mask", "the likeliest tokens where a text has [MASK]", tsri_cli_fill_mask},
    {"tokenize", "lines to token ids, and back", tsri_cli_tokenize},
    {"tokenizer", "make a tokenizer of text: tokenizer train", tsri_cli_tokenizer},
    {"info", "what a model is and needs; the bundled models", tsri_cli_info},
    {"devices", "the devices found: usable or not, and why", tsri_cli_devices},
    {"verify", "prove every kernel on a device against the reference", tsri_cli_verify},
    {"explain", "which kernel runs each op of a model, and why", tsri_cli_explain},
    {"bench", "how fast a device is, and a model on it; wrong results have no rate",
     tsri_cli_bench},
    {"evaluate", "how good a model is: perplexity, accuracy and F1, BLEU and chrF",
     tsri_cli_evaluate},
    {"plot", "a page that draws the logs of training runs", tsri_cli_plot},
    {"train", "a model from text: from scratch, or one that goes on learning", tsri_cli_train},
    {"merge", "a model folder with LoRA adapters in its weights", tsri_cli_merge},
    {"quantize", "a model folder with matrices of 8 or 4 bits", tsri_cli_quantize},
    {"attention", "which word a model looks at while it reads another: a page", tsri_cli_attention},
    {"dump", "logits, hidden states and attention to a file", tsri_cli_dump},
    {"tune", "search the best values for a device's kernels", tsri_cli_tune},
    {"kernels", "a model's kernels for devices that can't compile", tsri_cli_kernels},
    {"cache", "list or clear what Tessera keeps on disk", tsri_cli_cache},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *to) {
    fputs("Tessera runs and proves transformers on any OpenCL device.\n\nusage: tessera COMMAND "
          "[options]\n\n",
          to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    fputs("\ntessera help COMMAND tells the options of one.\n", to);
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
    tsri_cli_catch_signals();
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
    const command *found = find(argv[asked ? 2 : 1]);
    if (!found)
        return no_such(argv[asked ? 2 : 1]);
    if (asked) {
        char flag[] = "--help", *just_help[] = {argv[2], flag, NULL};
        return found->run(2, just_help);
    }
    return found->run(argc - 1, argv + 1);
}
