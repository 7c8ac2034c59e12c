/* task/generate/templates.c - writes the turns of a conversation in a model's format, and
 * recognises the format from its published template text. */
#include "task/generate/templates.h"

#include "base/error.h"
#include "base/hash.h"

#include <string.h>

enum {
    CHATML,
    CHATML_BOS,
    CHATML_BOS_HELPFUL,
    CHATML_QWEN2,
    CHATML_QWEN1_5,
    CHATML_QWEN2_5,
    CHATML_SMOLLM,
    CHATML_MIMO,
    CHATML_OPENCODER,
    LLAMA2,
    LLAMA3,
    LLAMA3_1,
    LLAMA3_2,
    LLAMA3_2_VISION,
    LLAMA3_EMPTY_SYSTEM,
    MISTRAL_V0_2,
    MISTRAL_V0_1,
    MISTRAL_SPACED,
    MISTRAL_V3,
    MISTRAL_TEKKEN,
    MISTRAL_V7,
    MISTRAL_V7_TEKKEN,
    GEMMA,
    GEMMA_NO_BOS,
    PHI3,
    PHI3_BOS,
    ROWS
};

/* What the rows of a family share. */
#define CHATML_TURNS                                                                           \
    .name = "chatml", .before_system = "<|im_start|>system\n", .after_system = "<|im_end|>\n", \
    .before_user = "<|im_start|>user\n", .after_user = "<|im_end|>\n",                         \
    .before_assistant = "<|im_start|>assistant\n", .after_assistant = "<|im_end|>\n",          \
    .end = "<|im_end|>"
#define LLAMA3_SYSTEM "<|start_header_id|>system<|end_header_id|>\n\n"
#define LLAMA3_TURNS                                                                           \
    .name = "llama3", .start = "{bos}", .after_system = "<|eot_id|>",                          \
    .before_user = "<|start_header_id|>user<|end_header_id|>\n\n", .after_user = "<|eot_id|>", \
    .before_assistant = "<|start_header_id|>assistant<|end_header_id|>\n\n",                   \
    .after_assistant = "<|eot_id|>", .end = "<|eot_id|>", .trim_system = true
#define MISTRAL_TURNS .name = "mistral", .start = "{bos}", .before_assistant = "", .end = "{eos}"
#define MISTRAL_SYSTEM .before_system = "", .after_system = "\n\n", .system_in_user = true
#define GEMMA_TURNS                                                                     \
    .name = "gemma", .before_system = "", .after_system = "\n\n",                       \
    .before_user = "<start_of_turn>user\n", .after_user = "<end_of_turn>\n",            \
    .before_assistant = "<start_of_turn>model\n", .after_assistant = "<end_of_turn>\n", \
    .end = "<end_of_turn>", .system_in_user = true, .trim_user = true
#define PHI3_TURNS                                                                                 \
    .name = "phi3", .before_system = "<|system|>\n", .after_system = "<|end|>\n",                  \
    .before_user = "<|user|>\n", .after_user = "<|end|>\n", .before_assistant = "<|assistant|>\n", \
    .after_assistant = "<|end|>\n", .end = "<|end|>"

static const tsri_task_template rows[ROWS] = {
    [CHATML] = {CHATML_TURNS, .start = ""},
    [CHATML_BOS] = {CHATML_TURNS, .start = "{bos}"},
    [CHATML_BOS_HELPFUL] = {CHATML_TURNS, .start = "{bos}",
                            .default_system = "You are a helpful assistant."},
    [CHATML_QWEN2] = {CHATML_TURNS, .start = "", .default_system = "You are a helpful assistant."},
    [CHATML_QWEN1_5] = {CHATML_TURNS, .start = "", .default_system = "You are a helpful assistant"},
    [CHATML_QWEN2_5] = {CHATML_TURNS, .start = "",
                        .default_system =
                            "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    [CHATML_SMOLLM] = {CHATML_TURNS, .start = "",
                       .default_system =
                           "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
    [CHATML_MIMO] = {CHATML_TURNS, .start = "",
                     .default_system = "You are MiMo, an AI assistant developed by Xiaomi."},
    [CHATML_OPENCODER] = {CHATML_TURNS, .start = "",
                          .default_system = "You are OpenCoder, created by OpenCoder Team."},
    [LLAMA2] = {.name = "llama2",
                .start = "",
                .before_system = "<<SYS>>\n",
                .after_system = "\n<</SYS>>\n\n",
                .before_user = "{bos}[INST] ",
                .after_user = " [/INST]",
                .before_assistant = "",
                .after_assistant = " {eos}",
                .end = "{eos}",
                .system_in_user = true,
                .trim_user = true},
    [LLAMA3] = {LLAMA3_TURNS, .trim_user = true, .before_system = LLAMA3_SYSTEM},
    [LLAMA3_1] = {LLAMA3_TURNS, .trim_user = true, .default_system = "",
                  .before_system = LLAMA3_SYSTEM
                  "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"},
    [LLAMA3_2] = {LLAMA3_TURNS, .trim_user = true, .default_system = "",
                  .before_system = LLAMA3_SYSTEM
                  "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n"},
    [LLAMA3_2_VISION] = {LLAMA3_TURNS, .default_system = "",
                         .before_system = LLAMA3_SYSTEM
                         "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n"},
    [LLAMA3_EMPTY_SYSTEM] = {LLAMA3_TURNS, .trim_user = true, .default_system = "",
                             .before_system = LLAMA3_SYSTEM},
    [MISTRAL_V0_2] = {MISTRAL_TURNS, MISTRAL_SYSTEM, .before_user = "[INST] ",
                      .after_user = " [/INST]", .after_assistant = "{eos}"},
    [MISTRAL_V0_1] = {MISTRAL_TURNS, MISTRAL_SYSTEM, .before_user = "[INST] ",
                      .after_user = " [/INST]", .after_assistant = "{eos} "},
    [MISTRAL_SPACED] = {MISTRAL_TURNS, MISTRAL_SYSTEM, .before_user = " [INST] ",
                        .after_user = " [/INST]", .after_assistant = "{eos}"},
    [MISTRAL_V3] = {MISTRAL_TURNS, MISTRAL_SYSTEM, .before_user = "[INST] ",
                    .after_user = "[/INST]", .after_assistant = "{eos}"},
    [MISTRAL_TEKKEN] = {MISTRAL_TURNS, MISTRAL_SYSTEM, .before_user = "[INST]",
                        .after_user = "[/INST]", .after_assistant = "{eos}"},
    [MISTRAL_V7] = {MISTRAL_TURNS, .before_system = "[SYSTEM_PROMPT] ",
                    .after_system = "[/SYSTEM_PROMPT]", .before_user = "[INST] ",
                    .after_user = "[/INST]", .after_assistant = "{eos}"},
    [MISTRAL_V7_TEKKEN] = {MISTRAL_TURNS, .before_system = "[SYSTEM_PROMPT]",
                           .after_system = "[/SYSTEM_PROMPT]", .before_user = "[INST]",
                           .after_user = "[/INST]", .after_assistant = "{eos}"},
    [GEMMA] = {GEMMA_TURNS, .start = "{bos}"},
    [GEMMA_NO_BOS] = {GEMMA_TURNS, .start = ""},
    [PHI3] = {PHI3_TURNS, .start = ""},
    [PHI3_BOS] = {PHI3_TURNS, .start = "{bos}"},
};

static const struct {
    char sha256[65];
    int row;
} texts[] = {
#define TEXT(sha256, row) {sha256, row},
#include "task/generate/template_texts.def"
#undef TEXT
};

static const char *const names[] = {"chatml", "llama2", "llama3", "mistral", "gemma", "phi3"};

const char *tsri_task_template_name(size_t i) {
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *tsri_task_template_list(void) {
    return "chatml, llama2, llama3, mistral, gemma, phi3";
}

const tsri_task_template *tsri_task_template_named(const char *name) {
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* Jinja reads every line end as \n, and drops one at the very end. */
static void hash_text(tsri_hash *hash, const char *text, size_t n) {
    size_t done = 0;
    if (n && text[n - 1] == '\n')
        n--;
    if (n && text[n - 1] == '\r')
        n--;
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\r')
            continue;
        tsri_base_hash_add(hash, text + done, i - done);
        done = i + 1;
        if (done == n || text[done] != '\n')
            tsri_base_hash_add(hash, "\n", 1);
    }
    tsri_base_hash_add(hash, text + done, n - done);
}

tsr_status tsri_task_template_of_text(const char *text, size_t n, const tsri_task_template **out) {
    tsri_hash *hash;
    unsigned char digest[32];
    char hex[65];
    *out = NULL;
    TRY(tsri_base_hash_begin(&hash));
    hash_text(hash, text, n);
    tsri_base_hash_end(&hash, digest);
    tsri_base_hash_hex(digest, hex);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !*out; i++)
        if (!strcmp(texts[i].sha256, hex))
            *out = &rows[texts[i].row];
    return TSR_OK;
}

/* ---- writing ---- */

static tsr_status add_part(const tsri_task_turn *turn, const char *part, tsri_bytes *out) {
    const struct {
        const char *name, *text;
    } values[] = {{"{bos}", turn->bos}, {"{eos}", turn->eos}, {"{date}", turn->date}};
    while (*part) {
        size_t n = strcspn(part + 1, "{") +
                   1; /* a row's text up to the next value, which may be at its start */
        const char *text = part;
        size_t size = n;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            if (!strncmp(part, values[i].name, strlen(values[i].name))) {
                text = values[i].text;
                size = strlen(text);
                n = strlen(values[i].name);
                break;
            }
        TRY(tsri_base_bytes_append(out, text, size));
        part += n;
    }
    return TSR_OK;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static tsr_status add_said(const char *text, size_t n, bool trim, tsri_task_written *out) {
    while (trim && n && is_space(text[n - 1]))
        n--;
    for (; trim && n && is_space(*text); n--)
        text++;
    const size_t start = out->text.size;
    TRY(tsri_base_bytes_append(&out->text, text, n));
    out->said[out->n_said++] = (tsri_task_range){start, out->text.size};
    return TSR_OK;
}

static tsr_status add_system(const tsri_task_template *row, const tsri_task_turn *turn,
                             tsri_task_written *out) {
    const char *system = turn->system && *turn->system ? turn->system : row->default_system;
    if (!system)
        return TSR_OK;
    TRY(add_part(turn, row->before_system, &out->text));
    TRY(add_said(system, strlen(system), row->trim_system, out));
    return add_part(turn, row->after_system, &out->text);
}

tsr_status tsri_task_template_write(const tsri_task_template *row, const tsri_task_turn *turn,
                                    tsri_task_written *out) {
    TRY(add_part(turn, turn->first ? row->start : row->after_assistant, &out->text));
    if (turn->first && !row->system_in_user)
        TRY(add_system(row, turn, out));
    TRY(add_part(turn, row->before_user, &out->text));
    if (turn->first && row->system_in_user)
        TRY(add_system(row, turn, out));
    TRY(add_said(turn->user, turn->user_size, row->trim_user, out));
    TRY(add_part(turn, row->after_user, &out->text));
    return add_part(turn, row->before_assistant, &out->text);
}
