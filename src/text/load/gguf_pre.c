/* text/load/gguf_pre.c - the names in tokenizer.ggml.pre and their patterns, as llama.cpp knows them. Where it
 * writes a pattern otherwise because its engine lacks something, this is the pattern of the model's own
 * tokenizer.json.
 * source  llama.cpp, src/llama-vocab.cpp */
#include "text/load/gguf_pre.h"

#include "base/error.h"
#include "text/base/patterns.h"

#include <string.h>

#define GPT2 tsri_text_pattern_gpt2
#define LLAMA3 tsri_text_pattern_llama3
#define QWEN2 tsri_text_pattern_qwen2
#define NUMBER "\\p{N}"
#define NUMBERS "\\p{N}+"
#define UP_TO_3 "\\p{N}{1,3}"

#define ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "\\s+(?!\\S)|\\s+"
#define LINES "\\s*[\\r\\n]+|"
#define WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define OTHERS " ?[^\\s\\p{L}\\p{N}]+"

/* Of o200k: a word may begin with capitals, and ends where they begin again. */
#define CASED(capitals, others)                                           \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]" capitals \
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]" others ENDINGS "?|"
#define CASED_WORDS CASED("*", "+") CASED("+", "*")

/* Of DeepSeek V3: marks belong to words, and a symbol of ASCII goes with the letters behind it. */
#define MARKED_WORDS                                         \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|" \
    "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
#define CJK "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define CJK_AND_HANGUL "[\\x{4E00}-\\x{9FA5}\\x{0800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define DEEPSEEK_V3 MARKED_WORDS " ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINES SPACES

#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+"

/* Runs of line ends, and what is between them. */
#define BETWEEN_LINES "[^\\n]+|[\\n]+"

static const char cased_letters[] =
    "\\s?[A-Za-z\\x{00B5}\\x{00C0}-\\x{00D6}\\x{00D8}-\\x{00F6}\\x{00F8}-\\x{01BA}"
    "\\x{01BC}-\\x{01BF}\\x{01C4}-\\x{0293}\\x{0295}-\\x{02AF}\\x{0370}-\\x{0373}"
    "\\x{0376}\\x{0377}\\x{037B}-\\x{037D}\\x{037F}\\x{0386}\\x{0388}-\\x{038A}"
    "\\x{038C}\\x{038E}-\\x{03A1}\\x{03A3}-\\x{03F5}\\x{03F7}-\\x{0481}\\x{048A}-"
    "\\x{052F}\\x{0531}-\\x{0556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-"
    "\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-"
    "\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-"
    "\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}"
    "\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-"
    "\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-"
    "\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-"
    "\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-"
    "\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}"
    "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-"
    "\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-"
    "\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-"
    "\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-"
    "\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}"
    "\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+";

static const char cjk_thai_and_others[] =
    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{8C48}-\\x{FAFF}\\x{3040}-\\x{309F}"
    "\\x{30A0}-\\x{30FF}\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{0E40}-\\x{0E7F}"
    "\\x{0E80}-\\x{0EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}"
    "\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+";

static const char youtu_scripts[] =
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}"
    "\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}"
    "\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|[\\x{4E00}-\\x{9FA5}\\x{3040}-"
    "\\x{309F}\\x{30A0}-\\x{30FF}]+";

static const char cascade_of_spaces[] =
    ENDINGS "|" WORD UP_TO_3 "|" OTHERS "[\\r\\n]*|" LINES
            "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
            "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}";

/* Alphabetical by the models' makers would split families: rows of one pattern stand together. */
static const tsri_text_gguf_pre rows[] = {
    {.names = "default",
     .patterns = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, NUMBERS, "[0-9][0-9][0-9]"}},
    {.names =
         "gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v2-es jina-v2-de modern-bert gigachat "
         "a.x-4.0 mellum exaone4 trillion granite-docling",
     .patterns = {GPT2}},
    {.names = "jina-v1-en jina-v2-code roberta-bpe", .patterns = {GPT2}, .add_sep = true},
    {.names = "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
     .patterns = {NUMBER, GPT2}},
    {.names = "falcon", .patterns = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.names = "chameleon",
     .patterns = {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )",
                  NUMBER, "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     .add_bos = true},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .patterns = {LLAMA3},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe chatglm-bpe", .patterns = {LLAMA3}},
    {.names = "glm4 glm5", .patterns = {LLAMA3}, .ignore_merges = true},
    {.names = "jais-2", .patterns = {cascade_of_spaces}},
    {.names = "minicpm5",
     .patterns = {UP_TO_3, ENDINGS "|" WORD NUMBERS "|" OTHERS "[\\r\\n]*|" LINES SPACES},
     .ignore_merges = true},
    {.names = "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
     .patterns = {QWEN2}},
    {.names = "qwen35",
     .patterns = {ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|" NUMBER
                          "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES SPACES}},
    {.names = "ufakzeka", .patterns = {WORD NUMBER "|" OTHERS "[\\r\\n]*|" LINES SPACES}},
    {.names = "laguna", .patterns = {BETWEEN_LINES, QWEN2}},
    {.names = "bailingmoe bailingmoe2 llada-moe",
     .patterns = {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|" NUMBER
                  "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|" SPACES}},
    {.names = "seed-coder",
     .patterns = {ENDINGS "|" WORD NUMBER "| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" LINES SPACES}},
    {.names = "exaone-moe",
     .patterns = {ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|" NUMBER
                          "|" OTHERS "[\\r\\n/]?|\\s*[\\r\\n]|" SPACES}},
    {.names = "deepseek-llm",
     .patterns =
         {"[\\r\\n]", cased_letters,
          "\\s?[!-/"
          ":-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
          "\\s+$", CJK_AND_HANGUL, NUMBERS}},
    {.names = "deepseek-coder",
     .patterns = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_AND_HANGUL, NUMBER}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4", .patterns = {UP_TO_3, CJK, DEEPSEEK_V3}},
    {.names = "spark2_5",
     .patterns = {UP_TO_3, CJK, MARKED_WORDS " ?[\\p{P}\\p{S}]+|[\\r\\n]|" SPACES, NUMBER}},
    {.names = "afmoe",
     .patterns = {"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))", cjk_thai_and_others, DEEPSEEK_V3}},
    {.names = "youtu",
     .patterns = {youtu_scripts, CASED_WORDS NUMBER "|" OTHERS "[\\r\\n/]*|" LINES SPACES},
     .ignore_merges = true},
    {.names = "bloom poro-chat gpt3-finnish", .patterns = {BLOOM}},
    {.names = "viking", .patterns = {BLOOM, NUMBER}},
    {.names = "tekken",
     .patterns = {tsri_text_pattern_tekken},
     .ignore_merges = true,
     .add_bos = true},
    {.names = "gpt-4o llama4 kanana2 talkie minimax-m2", .patterns = {tsri_text_pattern_o200k}},
    {.names = "granite-embed-multi-97m",
     .patterns = {tsri_text_pattern_o200k},
     .ignore_merges = true},
    {.names = "tiny_aya cohere2moe",
     .patterns = {"\\d{1,3}(?=(?:\\d{3})*\\b)", tsri_text_pattern_o200k}},
    {.names = "kimi-k2", .patterns = {tsri_text_pattern_kimi}},
    {.names = "superbpe", .patterns = {NUMBERS, "(?=(\\d{3})+(?!\\d))"}},
    {.names = "gemma4 granite-embed-multi-311m",
     .patterns = {BETWEEN_LINES},
     .characters = true,
     .add_bos = true},
    {.names = "sarvam-moe", .patterns = {BETWEEN_LINES}, .characters = true},
    {.names = "whitespace", .patterns = {"\\S+"}, .words = true},
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool has_name(const char *names, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = names; n && (at = strstr(at, name)); at++)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return !strchr(name, ' ');
    return false;
}

tsr_status tsri_text_gguf_pre_of(const char *name, const tsri_text_gguf_pre **out) {
    for (size_t i = 0; i < ROWS; i++)
        if (has_name(rows[i].names, name)) {
            *out = &rows[i];
            return TSR_OK;
        }
    return tsri_base_fail(TSR_E_UNSUPPORTED, "tokenizer.ggml.pre \"%.60s\" is not supported", name);
}
