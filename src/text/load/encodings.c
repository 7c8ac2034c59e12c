/* text/load/encodings.c - the encodings of tiktoken and of the models that took its format over.
 * source  tiktoken_ext/openai_public.py; llama_models' tokenizer.py of Llama 3 and 4; tokenization_qwen.py;
 *         tokenization_kimi.py; whisper/tokenizer.py */
#include "text/load/encodings.h"

#include "base/error.h"
#include "text/base/patterns.h"

#include <string.h>

#define ONE(text) \
    { text, NULL, 0, 1 }
#define GAP(count) \
    { NULL, NULL, 0, count }
#define ROW(before, behind, from, count) \
    { before, behind, from, count }
#define RUNS(runs) .specials = runs, .run_count = sizeof runs / sizeof *runs

static const tsri_text_special_run end_of_text[] = {ONE("<|endoftext|>")};
static const tsri_text_special_run cl100k[] = {ONE("<|endoftext|>"),
                                               ONE("<|fim_prefix|>"),
                                               ONE("<|fim_middle|>"),
                                               ONE("<|fim_suffix|>"),
                                               GAP(15),
                                               ONE("<|endofprompt|>")};
static const tsri_text_special_run o200k[] = {ONE("<|endoftext|>"), GAP(18),
                                              ONE("<|endofprompt|>")};
static const tsri_text_special_run harmony[] = {ONE("<|startoftext|>"),
                                                ONE("<|endoftext|>"),
                                                ROW("<|reserved_", "|>", 200000, 2),
                                                ONE("<|return|>"),
                                                ONE("<|constrain|>"),
                                                ROW("<|reserved_", "|>", 200004, 1),
                                                ONE("<|channel|>"),
                                                ONE("<|start|>"),
                                                ONE("<|end|>"),
                                                ONE("<|message|>"),
                                                ROW("<|reserved_", "|>", 200009, 3),
                                                ONE("<|call|>"),
                                                ROW("<|reserved_", "|>", 200013, 5),
                                                ONE("<|endofprompt|>"),
                                                ROW("<|reserved_", "|>", 200019, 1069)};
static const tsri_text_special_run llama3[] = {ONE("<|begin_of_text|>"),
                                               ONE("<|end_of_text|>"),
                                               ROW("<|reserved_special_token_", "|>", 0, 2),
                                               ONE("<|finetune_right_pad_id|>"),
                                               ONE("<|step_id|>"),
                                               ONE("<|start_header_id|>"),
                                               ONE("<|end_header_id|>"),
                                               ONE("<|eom_id|>"),
                                               ONE("<|eot_id|>"),
                                               ONE("<|python_tag|>"),
                                               ONE("<|image|>"),
                                               ROW("<|reserved_special_token_", "|>", 2, 244)};
static const tsri_text_special_run llama4[] = {
    ONE("<|begin_of_text|>"),
    ONE("<|end_of_text|>"),
    ONE("<|fim_prefix|>"),
    ONE("<|fim_middle|>"),
    ONE("<|fim_suffix|>"),
    ONE("<|header_start|>"),
    ONE("<|header_end|>"),
    ONE("<|eom|>"),
    ONE("<|eot|>"),
    ONE("<|step|>"),
    ROW("<|text_post_train_reserved_special_token_", "|>", 0, 6),
    ONE("<|python_start|>"),
    ONE("<|python_end|>"),
    ONE("<|finetune_right_pad|>"),
    ROW("<|text_post_train_reserved_special_token_", "|>", 8, 61),
    ONE("<|image_start|>"),
    ONE("<|image_end|>"),
    ROW("<|vision_reserved_special_token_", "|>", 0, 2),
    ONE("<|tile_x_separator|>"),
    ONE("<|tile_y_separator|>"),
    ROW("<|vision_reserved_special_token_", "|>", 2, 4),
    ONE("<|image|>"),
    ROW("<|vision_reserved_special_token_", "|>", 6, 1),
    ONE("<|patch|>"),
    ROW("<|vision_reserved_special_token_", "|>", 7, 1041),
    ROW("<|reasoning_reserved_special_token_", "|>", 0, 8),
    ONE("<|reasoning_thinking_start|>"),
    ONE("<|reasoning_thinking_end|>"),
    ROW("<|reserved_special_token_", "|>", 0, 904)};
static const tsri_text_special_run qwen[] = {ONE("<|endoftext|>"), ONE("<|im_start|>"),
                                             ONE("<|im_end|>"), ROW("<|extra_", "|>", 0, 205)};
static const tsri_text_special_run kimi[] = {ONE("[BOS]"), ONE("[EOS]"),
                                             ROW("<|reserved_token_", "|>", 163586, 254)};

static const tsri_text_encoding rows[] = {
    {.name = "r50k_base",
     .pieces = 50256,
     .patterns = {tsri_text_pattern_gpt2},
     .first = 50256,
     RUNS(end_of_text),
     .eos = "<|endoftext|>"},
    {.name = "gpt2",
     .model_types = {"gpt2"},
     .pieces = 50256,
     .patterns = {tsri_text_pattern_gpt2},
     .first = 50256,
     RUNS(end_of_text),
     .eos = "<|endoftext|>"},
    {.name = "p50k_base",
     .pieces = 50280,
     .patterns = {tsri_text_pattern_gpt2},
     .first = 50256,
     RUNS(end_of_text),
     .eos = "<|endoftext|>"},
    {.name = "multilingual", /* Whisper's, without the tokens of its tasks */
     .pieces = 50257,
     .patterns = {tsri_text_pattern_gpt2},
     .first = -1,
     RUNS(end_of_text),
     .eos = "<|endoftext|>"},
    {.name = "cl100k_base",
     .pieces = 100256,
     .patterns = {tsri_text_pattern_cl100k},
     .first = 100257,
     RUNS(cl100k),
     .eos = "<|endoftext|>"},
    {.name = "o200k_base",
     .pieces = 199998,
     .patterns = {tsri_text_pattern_o200k},
     .first = 199999,
     RUNS(o200k),
     .eos = "<|endoftext|>"},
    {.name = "o200k_harmony",
     .model_types = {"gpt_oss"},
     .patterns = {tsri_text_pattern_o200k},
     .first = 199998,
     RUNS(harmony),
     .bos = "<|startoftext|>",
     .eos = "<|return|>",
     .pad = "<|endoftext|>"},
    {.name = "llama3",
     .model_types = {"llama", "mllama"},
     .pieces = 128000,
     .patterns = {tsri_text_pattern_llama3},
     .first = -1,
     RUNS(llama3),
     .bos = "<|begin_of_text|>",
     .eos = "<|end_of_text|>",
     .pad = "<|finetune_right_pad_id|>",
     .add_bos = true},
    {.name = "llama4",
     .model_types = {"llama4", "llama4_text"},
     .pieces = 200000,
     .patterns = {tsri_text_pattern_o200k},
     .first = -1,
     RUNS(llama4),
     .bos = "<|begin_of_text|>",
     .eos = "<|end_of_text|>",
     .pad = "<|finetune_right_pad|>",
     .add_bos = true},
    {.name = "qwen",
     .model_types = {"qwen"},
     .pieces = 151643,
     .patterns = {tsri_text_pattern_qwen2},
     .first = -1,
     RUNS(qwen),
     .eos = "<|endoftext|>",
     .pad = "<|endoftext|>"},
    {.name = "kimi",
     .model_types = {"kimi_k2", "kimi_k25"},
     .pieces = 163584,
     .patterns = {tsri_text_pattern_kimi},
     .first = -1,
     RUNS(kimi),
     .bos = "[BOS]",
     .eos = "[EOS]"},
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool is_named(const tsri_text_encoding *row, const char *file) {
    const size_t n = strlen(row->name);
    return strncmp(file, row->name, n) == 0 && (file[n] == '.' || file[n] == 0);
}

const tsri_text_encoding *tsri_text_encoding_of(const char *model_type, const char *file,
                                                size_t pieces) {
    for (size_t i = 0; i < ROWS && model_type; i++)
        for (size_t k = 0; k < 2 && rows[i].model_types[k]; k++)
            if (strcmp(rows[i].model_types[k], model_type) == 0)
                return &rows[i];
    for (size_t i = 0; i < ROWS && file; i++)
        if (is_named(&rows[i], file))
            return &rows[i];
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].pieces && (size_t)rows[i].pieces == pieces)
            return &rows[i];
    return NULL;
}

tsr_status tsri_text_encoding_names(tsri_bytes *out) {
    for (size_t i = 0; i < ROWS; i++)
        TRY(tsri_base_bytes_printf(out, "%s%s", i ? ", " : "", rows[i].name));
    return TSR_OK;
}
