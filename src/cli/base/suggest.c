/* cli/base/suggest.c - finds the command or option that was probably meant, also by its name in
 * other programs. */
#include "cli/base/suggest.h"
#include "cli/base/names.h"

#include "tessera/status.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 192 };

/* Names from llama.cpp, transformers, PyTorch's scripts and Marian: the name as typed, the option
 * that a command must have for the advice to apply, and what to give instead (NULL: that option).
 */
typedef struct synonym {
    const char *typed, *option, *give;
} synonym;

static const synonym options[] = {
    {"max-tokens", "max-new-tokens", NULL},
    {"max-gen-toks", "max-new-tokens", NULL},
    {"num-predict", "max-new-tokens", NULL},
    {"tokens", "max-new-tokens", NULL},
    {"n-gen", "max-new-tokens", NULL},
    {"predict", "max-new-tokens", NULL},
    {"length", "max-new-tokens", NULL},
    {"ngl", "device", "--device gpu,cpu: the GPU gets the layers that it holds"},
    {"n-gpu-layers", "device", "--device gpu,cpu: the GPU gets the layers that it holds"},
    {"gpu-layers", "device", "--device gpu,cpu: the GPU gets the layers that it holds"},
    {"gpu", "device", "--device gpu"},
    {"cuda", "device", "--device gpu"},
    {"cpu", "device", "--device cpu"},
    {"main-gpu", "device", NULL},
    {"tensor-split", "device", "--device A,B: it splits the layers by memory"},
    {"n-threads", "threads", NULL},
    {"num-threads", "threads", NULL},
    {"cpu-threads", "threads", NULL},
    {"n-ctx", "ctx-size", NULL},
    {"context-length", "ctx-size", NULL},
    {"context-size", "ctx-size", NULL},
    {"max-context", "ctx-size", NULL},
    {"max-seq-len", "ctx-size", NULL},
    {"max-seq-length", "ctx-size", NULL},
    {"max-model-len", "ctx-size", NULL},
    {"max-length", "ctx-size", NULL},
    {"ctk", "kv-dtype", NULL},
    {"ctv", "kv-dtype", NULL},
    {"cache-type-k", "kv-dtype", NULL},
    {"cache-type-v", "kv-dtype", NULL},
    {"torch-dtype", "dtype", NULL},
    {"precision", "dtype", NULL},
    {"quantize", "dtype", NULL},
    {"quantization", "dtype", NULL},
    {"fp16", "dtype", "--dtype f16"},
    {"half", "dtype", "--dtype f16"},
    {"bf16", "dtype", "--dtype bf16"},
    {"load-in-8bit", "dtype", "--dtype q8"},
    {"load-in-4bit", "dtype", "--dtype q4"},
    {"compute-type", "compute", NULL},
    {"no-progress", "progress", "--progress none"},
    {"disable-tqdm", "progress", "--progress none"},
    {"model-path", "model", NULL},
    {"model-name-or-path", "model", NULL},
    {"model-name", "model", NULL},
    {"model-dir", "model", NULL},
    {"checkpoint", "model", NULL},
    {"ckpt", "model", NULL},
    {"pretrained", "model", NULL},
    {"hf", "model", "-m org/name: Tessera finds it where it was downloaded"},
    {"hf-repo", "model", "-m org/name: Tessera finds it where it was downloaded"},
    {"adapter", "lora", NULL},
    {"peft", "lora", NULL},
    {"lora-adapter", "lora", NULL},
    {"lora-path", "lora", NULL},
    {"temp", "temperature", NULL},
    {"topk", "top-k", NULL},
    {"topp", "top-p", NULL},
    {"minp", "min-p", NULL},
    {"do-sample", "temperature", "--temperature 1; 0 always takes the most likely token"},
    {"greedy", "temperature", "--temperature 0"},
    {"reverse-prompt", "stop", NULL},
    {"stop-string", "stop", NULL},
    {"stop-strings", "stop", NULL},
    {"stop-sequence", "stop", NULL},
    {"eos", "ignore-eos", NULL},
    {"num-return-sequences", "n-best", NULL},
    {"beams", "num-beams", NULL},
    {"beam", "num-beams", NULL},
    {"beam-width", "num-beams", NULL},
    {"sys", "system", NULL},
    {"system-prompt", "system", NULL},
    {"template", "chat-template", NULL},
    {"src", "from", NULL},
    {"src-lang", "from", NULL},
    {"source", "from", NULL},
    {"tgt", "to", NULL},
    {"tgt-lang", "to", NULL},
    {"target", "to", NULL},
    {"text", "prompt", NULL},
    {"input", "file", NULL},
    {"input-file", "file", NULL},
    {"prompt-file", "file", NULL},
    {"in", "file", NULL},
    {"out", "output", NULL},
    {"output-dir", "output", NULL},
    {"output-file", "output", NULL},
    {"outfile", "output", NULL},
    {"save", "output", NULL},
    {"lang", "to", NULL},
    {"mini-batch", "batch-size", NULL},
    {"bs", "batch-size", NULL},
    {"charset", "encoding", NULL},
    {"k", "top-k", NULL},
    {"lr", "set", "--set learning_rate=R"},
    {"learning-rate", "set", "--set learning_rate=R"},
    {"epochs", "set", "--set num_train_epochs=N"},
    {"num-train-epochs", "set", "--set num_train_epochs=N"},
    {"steps", "set", "--set max_steps=N"},
    {"max-steps", "set", "--set max_steps=N"},
    {"batch-size", "set", "--set per_device_train_batch_size=N"},
    {"seed", "set", "--set seed=N"},
    {"block-size", "set", "--set block_size=N"},
    {"lora-rank", "set", "--set lora_rank=N"},
    {"warmup-steps", "set", "--set warmup_steps=N"},
    {"weight-decay", "set", "--set weight_decay=R"},
    {"eval", "validation", NULL},
    {"dev", "validation", NULL},
    {"test", "validation", NULL},
    {"config", "recipe", NULL},
    {"arch", "recipe", NULL},
    {"silent", "quiet", NULL},
    {"no-display-prompt", "echo", "nothing: the prompt is printed only with --echo"},
    {"log-level", "verbose", "--verbose, or --quiet"},
    {"debug", "verbose", NULL}};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const synonym commands[] = {
    {"run", "generate", NULL},    {"complete", "generate", NULL}, {"completion", "generate", NULL},
    {"gen", "generate", NULL},    {"infer", "generate", NULL},    {"convert", "quantize", NULL},
    {"ls", "models", NULL},       {"list", "models", NULL},       {"show", "info", NULL},
    {"embedding", "embed", NULL}, {"embeddings", "embed", NULL},  {"encode", "tokenize", NULL},
    {"decode", "tokenize", NULL}, {"benchmark", "bench", NULL},   {"perplexity", "evaluate", NULL},
    {"ppl", "evaluate", NULL},    {"score", "evaluate", NULL},    {"bleu", "evaluate", NULL},
    {"finetune", "train", NULL},  {"fine-tune", "train", NULL},   {"fit", "train", NULL},
    {"test", "verify", NULL},     {"check", "verify", NULL},      {"gpus", "devices", NULL},
    {"clinfo", "devices", NULL},  {"mask", "fill-mask", NULL},    {"ner", "classify", NULL},
    {"label", "classify", NULL},  {"query", "search", NULL}};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Compares two names; '_' counts as '-'. */
static bool same(const char *typed, const char *name) {
    for (; *typed && *name; typed++, name++)
        if ((*typed == '_' ? '-' : *typed) != *name)
            return false;
    return *typed == *name;
}

static size_t option_names(const tsri_cli_option *const *tables, char (*texts)[CLI_NAME_ROOM],
                           const char **names) {
    size_t n = 0;
    for (; *tables; tables++)
        for (const tsri_cli_option *o = *tables; o->names; o++)
            for (const char *at = o->names; n < MOST_NAMES && tsri_cli_next_name(&at, texts[n]);
                 n++)
                names[n] = texts[n];
    return n;
}

bool tsri_cli_suggest_option(const char *typed, const tsri_cli_option *const *tables, char *out,
                             size_t room) {
    char texts[MOST_NAMES][CLI_NAME_ROOM], name[CLI_NAME_ROOM];
    const char *names[MOST_NAMES];
    const size_t n = option_names(tables, texts, names);
    typed += strspn(typed, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(typed, "="), typed);
    for (size_t i = 0; i < N_OPTIONS; i++)
        for (size_t k = 0; same(name, options[i].typed) && k < n; k++)
            if (!strcmp(names[k], options[i].option)) {
                snprintf(out, room, "%s%s", options[i].give ? "" : "--",
                         options[i].give ? options[i].give : names[k]);
                return true;
            }
    const char *nearest = tsr_name_nearest(name, names, n);
    if (nearest)
        snprintf(out, room, "--%s", nearest);
    return nearest != NULL;
}

bool tsri_cli_is_other_option(const char *typed) {
    static const char *const others[] = {"ngl", "ctk", "ctv", "hf", "sys", "bs"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (typed[0] == '-' && !strcmp(typed + 1, others[i]))
            return true;
    return false;
}

const char *tsri_cli_suggest_command(const char *typed, const char *const *names, size_t n) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (same(typed, commands[i].typed))
            return commands[i].option;
    return tsr_name_nearest(typed, names, n);
}
