/* model/tokens/merges.c - reads vocab.json with merges.txt, the files of byte-level BPE before
 * tokenizer.json existed, by turning them into a tokenizer.json. */
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
#include "text/load/gguf_pre.h"
#include "text/load/load.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64 };

/* Reads lines "a b"; the first may be a comment, "#version: ...". NULL: a line is not UTF-8. */
static json_t *lines_of(const tsri_bytes *bytes) {
    json_t *list = json_array();
    const char *at = bytes->data, *const stop = at ? at + bytes->size : at;
    bool failed = !list;
    for (bool first = true; at && at < stop && !failed; first = false) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        size_t n = (size_t)((end ? end : stop) - at);
        if (n && at[n - 1] == '\r')
            n--;
        if (n && !(first && n > 8 && memcmp(at, "#version", 8) == 0))
            failed = json_array_append_new(list, json_stringn(at, n)) != 0;
        at = end ? end + 1 : stop;
    }
    if (failed)
        json_decref(list);
    return failed ? NULL : list;
}

/* The special tokens that the vocabulary has under their usual names. */
static json_t *specials_of(const json_t *vocabulary) {
    static const char *const names[] = {"<s>",    "<pad>",         "</s>",  "<unk>",
                                        "<mask>", "<|endoftext|>", "[CLS]", "[PAD]",
                                        "[SEP]",  "[UNK]",         "[MASK]"};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *id = json_object_get(vocabulary, names[i]);
        if (json_is_integer(id))
            tsri_base_json_append(list,
                                  json_pack("{s:I, s:s, s:b, s:b}", "id", json_integer_value(id),
                                            "content", names[i], "special", 1, "lstrip",
                                            strstr(names[i], "mask") || strstr(names[i], "MASK")));
    }
    return list;
}

/* The tokens around a text. DeBERTa's pairs are those that it was trained on; the class of transformers 5 puts [SEP] twice
 * between two texts. */
typedef struct frame {
    const char *cls, *sep, *type;
    bool bert;
} frame;

static const frame roberta = {"<s>", "</s>", "RobertaProcessing", false},
                   deberta = {"[CLS]", "[SEP]", "BertProcessing", true};

/* What transformers' classes for these files do unlike GPT2Tokenizer, which cuts words by GPT-2's pattern and adds the tokens
 * that tokenizer_config.json asks for. Names are those of tsri_model_class_of, also of the models' types. */
typedef struct rules {
    const char *classes[16];
    const frame *around; /* NULL: as GPT2Tokenizer */
    /* The name that llama.cpp gives the pattern that cuts words; NULL: GPT-2's. */
    const char *pattern;
    bool composed; /* texts are composed (NFC) */
    bool refused;  /* the pieces are not made of bytes as GPT-2's are */
} rules;

static const rules all[] = {
    {{"roberta", "bart", "longformer", "led", "mvp", "data2vectext", "ibert", "lilt", "mega", "mra",
      "robertaprelayernorm", "luke", "layoutlmv3", "bridgetower", "clap"},
     .around = &roberta},
    {{"deberta"}, .around = &deberta},
    {{"qwen2", "qwen2moe", "qwen2vl", "qwen25vl", "qwen2audio", "qwen3", "qwen3moe", "qwen3next",
      "qwen3vl", "qwen3vlmoe", "qwen3asr", "qwen3omnimoe"},
     .pattern = "qwen2",
     .composed = true},
    {{"qwen35", "qwen35moe", "qwen35text", "qwen35moetext"}, .pattern = "qwen35", .composed = true},
    {{"gptneox"}, .composed = true},
    {{"clip", "clvp", "ctrl", "biogpt", "fsmt", "xlm", "flaubert", "openaigpt", "herbert",
      "blenderbotsmall"},
     .refused = true}};

/* The rules of a class; NULL: those of GPT2Tokenizer. */
static const rules *rules_of(const char *class) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof all->classes / sizeof *all->classes && all[i].classes[k]; k++)
            if (strcmp(all[i].classes[k], class) == 0)
                return &all[i];
    return NULL;
}

static bool has_frame(const json_t *vocabulary, const frame *f) {
    return json_is_integer(json_object_get(vocabulary, f->cls)) &&
           json_is_integer(json_object_get(vocabulary, f->sep));
}

/* The tokens around a text; NULL: none but those that tokenizer_config.json asks for. Where no class is known
 * ("PreTrainedTokenizerFast" is that of any tokenizer.json), the vocabulary tells. */
static const frame *frame_of(const char *class, const rules *r, const json_t *vocabulary) {
    const bool unknown = !*class || strcmp(class, "pretrained") == 0;
    const frame *known = r ? r->around : NULL;
    if (unknown)
        known = has_frame(vocabulary, &roberta) ? &roberta : &deberta;
    return known && has_frame(vocabulary, known) ? known : NULL;
}

/* How words are cut, as a tokenizer.json has it; NULL: memory ran out. */
static json_t *words_of(const rules *r, bool prefix) {
    const tsri_text_gguf_pre *pre;
    if (!r || !r->pattern || tsri_text_gguf_pre_of(r->pattern, &pre) != TSR_OK)
        return json_pack("{s:s, s:b}", "type", "ByteLevel", "add_prefix_space", prefix);
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b}]}", "type", "Sequence",
                     "pretokenizers", "type", "Split", "pattern", "Regex", pre->patterns[0],
                     "behavior", "Isolated", "invert", 0, "type", "ByteLevel", "add_prefix_space",
                     prefix, "use_regex", 0);
}

static json_t *processor_of(const frame *f, const json_t *vocabulary) {
    return json_pack("{s:s, s:[s,I], s:[s,I]}", "type", f->type, "cls", f->cls,
                     json_integer_value(json_object_get(vocabulary, f->cls)), "sep", f->sep,
                     json_integer_value(json_object_get(vocabulary, f->sep)));
}

static tsr_status make(const tsri_model_place *place, json_t *vocabulary, const tsri_bytes *merges,
                       bool *framed, tsri_text_tokenizer **out) {
    char class[TSRI_MODEL_CLASS];
    bool prefix = false;
    tsri_model_class_of(place, class);
    const rules *r = rules_of(class);
    const frame *around = frame_of(class, r, vocabulary);
    *framed = around != NULL;
    if (r && r->refused)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "vocab.json and merges.txt of \"%s\" have other pieces than GPT-2's, which "
            "alone are read; put the model's tokenizer.json beside them",
            class);
    TRY(tsri_base_json_bool(place->config, place->config_path, "add_prefix_space", &prefix));
    json_t *json =
        json_pack("{s:{s:s, s:O, s:o}, s:o, s:o, s:{s:s}}", "model", "type", "BPE", "vocab",
                  vocabulary, "merges", lines_of(merges), "added_tokens", specials_of(vocabulary),
                  "pre_tokenizer", words_of(r, prefix), "decoder", "type", "ByteLevel");
    if (!json)
        return tsri_base_fail(TSR_E_FORMAT,
                              "merges.txt has a line that is not UTF-8, or memory ran out");
    if (r && r->composed)
        tsri_base_json_put(json, "normalizer", json_pack("{s:s}", "type", "NFC"));
    if (around)
        tsri_base_json_put(json, "post_processor", processor_of(around, vocabulary));
    tsr_status status = tsri_base_json_made(json, "merges.txt");
    if (status == TSR_OK)
        status = tsri_text_from_json(json, out);
    json_decref(json);
    if (status == TSR_OK && around)
        status = tsri_model_set_usual_roles(*out, around->bert);
    if (status == TSR_OK)
        tsri_text_set_source(*out, "vocab.json and merges.txt");
    return status;
}

tsr_status tsri_model_read_merges(const tsri_model_place *place, const char *path, bool *framed,
                                  tsri_text_tokenizer **out) {
    tsri_bytes merges = {0};
    json_t *vocabulary = NULL;
    char *ids = tsri_base_join(place->folder, "vocab.json");
    tsr_status status =
        ids ? tsri_base_json_load(ids, MOST, DEPTH, &vocabulary) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_read_whole(path, MOST, &merges);
    if (status == TSR_OK && (status = make(place, vocabulary, &merges, framed, out)) != TSR_OK)
        tsri_base_fail_within(status, "%s", place->folder);
    tsri_base_bytes_clear(&merges);
    json_decref(vocabulary);
    free(ids);
    return status;
}
