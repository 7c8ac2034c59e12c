/* model/tokens/tokens.c - finds the tokenizer in a model's folder by the names of its files,
 * and reads it. */
#include "model/tokens/tokens.h"
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "text/load/load.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, DEPTH = 64 };

/* Data sets are hashed in this order (train/data/encode.c). */
const char *const tsri_model_tokenizer_files[] = {"tokenizer.json",
                                                  "merges.txt",
                                                  "vocab.json",
                                                  "tokenizer.model",
                                                  "vocab.txt",
                                                  "source.spm",
                                                  "target.spm",
                                                  "spiece.model",
                                                  "spm.model",
                                                  "sentencepiece.bpe.model",
                                                  "target_vocab.json",
                                                  "tekken.json",
                                                  "tiktoken.model",
                                                  "qwen.tiktoken",
                                                  "cl100k_base.tiktoken",
                                                  "o200k_base.tiktoken",
                                                  NULL};
const char *const tsri_model_tokenizer_settings[] = {"tokenizer_config.json",
                                                     "special_tokens_map.json",
                                                     "added_tokens.json",
                                                     "chat_template.jinja",
                                                     "chat_template.json",
                                                     "additional_chat_templates/tool_use.jinja",
                                                     NULL};

const char tsri_model_more_templates[] = "additional_chat_templates";

static const char *const role_keys[TSRI_TEXT_ROLES] = {
    [TSRI_TEXT_BOS] = "bos_token", [TSRI_TEXT_EOS] = "eos_token",   [TSRI_TEXT_UNK] = "unk_token",
    [TSRI_TEXT_PAD] = "pad_token", [TSRI_TEXT_MASK] = "mask_token", [TSRI_TEXT_CLS] = "cls_token",
    [TSRI_TEXT_SEP] = "sep_token"};

/* A token in tokenizer_config.json: "bos_token": "<s>" or {"content": "<s>"}; NULL if it is
 * missing. */
static const char *named(const json_t *config, const char *key) {
    const json_t *value = json_object_get(config, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    return json_string_value(value);
}

/* Whether tokenizer_config.json says that there is no such token: by null or, where the class has no defaults, by silence.
 * map: special_tokens_map.json, where it counts, too. */
static bool is_unnamed(const json_t *config, const json_t *map, const char *key) {
    static const char *const plain[] = {"PreTrainedTokenizerFast", "PreTrainedTokenizer",
                                        "TokenizersBackend", "PythonBackend"};
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    bool silent = false;
    for (size_t i = 0; class && i < sizeof plain / sizeof *plain; i++)
        silent |= strcmp(class, plain[i]) == 0;
    return !named(map, key) && (json_is_null(json_object_get(config, key)) ||
                                (silent && !json_object_get(config, key)));
}

/* transformers reads special_tokens_map.json only where tokenizer_config.json has no added_tokens_decoder. */
static tsr_status find_unnamed(const tsri_model_place *p, bool unnamed[TSRI_TEXT_ROLES]) {
    json_t *map = NULL;
    if (!json_object_get(p->config, "added_tokens_decoder"))
        TRY(tsri_model_load_if(p, "special_tokens_map.json", &map));
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        unnamed[role] = is_unnamed(p->config, map, role_keys[role]);
    json_decref(map);
    return TSR_OK;
}

/* Sets what the tokenizer's own file doesn't say, from tokenizer_config.json, else from the model's
 * config. */
static tsr_status set_roles(const tsri_model_place *p, tsri_text_tokenizer *tokenizer) {
    const tsri_model_spec *spec = p->spec;
    int32_t fallback[TSRI_TEXT_ROLES];
    bool unnamed[TSRI_TEXT_ROLES];
    TRY(find_unnamed(p, unnamed));
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        fallback[role] = -1;
    fallback[TSRI_TEXT_BOS] = spec->bos;
    fallback[TSRI_TEXT_EOS] = spec->n_eos ? spec->eos[0] : -1;
    fallback[TSRI_TEXT_PAD] = spec->pad;
    for (int role = 0; role < TSRI_TEXT_ROLES; role++) {
        const char *name = named(p->config, role_keys[role]);
        int32_t id = name ? tsri_text_id_of(tokenizer, name, strlen(name)) : -1;
        if (id < 0)
            id = tsri_text_role_id(tokenizer, (tsri_text_role)role);
        if (id < 0 && fallback[role] < tsri_text_vocabulary_size(tokenizer))
            id = fallback[role];
        if (unnamed[role])
            tsri_text_set_role_unnamed(tokenizer, (tsri_text_role)role);
        size_t n;
        if (id >= 0 && tsri_text_piece_of(tokenizer, id, &n))
            TRY(tsri_text_set_role(tokenizer, (tsri_text_role)role, id));
    }
    return TSR_OK;
}

/* The tokens around a text that tokenizer_config.json asks for, where the tokenizer has them. add_bos: unless it says
 * otherwise. */
static tsr_status set_affixes(const tsri_model_place *p, bool add_bos,
                              tsri_text_tokenizer *tokenizer) {
    bool add_eos = false;
    if (!p->config && p->spec->bos < 0)
        return TSR_OK;
    TRY(tsri_base_json_bool(p->config, p->config_path, "add_bos_token", &add_bos));
    TRY(tsri_base_json_bool(p->config, p->config_path, "add_eos_token", &add_eos));
    return tsri_text_set_affixes(tokenizer,
                                 add_bos && tsri_text_role_id(tokenizer, TSRI_TEXT_BOS) >= 0,
                                 add_eos && tsri_text_role_id(tokenizer, TSRI_TEXT_EOS) >= 0);
}

/* Where Llama's classes put a space. Their `legacy` is false unless it is stated, that of other classes true; Code Llama's
 * reads none. Only Llama's own reads add_prefix_space. A model of another type that names Llama's class has another in
 * transformers. */
static tsr_status set_space_before(const tsri_model_place *p, tsri_text_tokenizer *tokenizer) {
    const char *class = json_string_value(json_object_get(p->config, "tokenizer_class")),
               *type = json_string_value(json_object_get(p->model_config, "model_type"));
    const bool own = class && (!type || strcmp(type, "llama") == 0),
               code = own && strncmp(class, "CodeLlamaTokenizer", 18) == 0,
               llama = own && strncmp(class, "LlamaTokenizer", 14) == 0;
    bool legacy = !llama, before = true;
    TRY(tsri_base_json_bool(p->config, p->config_path, "legacy", &legacy));
    if (llama || code)
        TRY(tsri_base_json_bool(p->config, p->config_path, "add_prefix_space", &before));
    tsri_text_set_space_before(tokenizer, before, code || !legacy);
    return TSR_OK;
}

/* `rows`: those of the model's embedding; 0: not known. */
static tsr_status read_json(const char *path, int32_t rows, const json_t *steps,
                            tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    TRY(tsri_base_read_whole(path, MOST, &bytes));
    const tsr_status status =
        tsri_text_from_json_for(bytes.data, bytes.size, path, rows, steps, out);
    tsri_base_bytes_clear(&bytes);
    return status;
}

static tsr_status read_bert(const tsri_model_place *p, const char *path,
                            tsri_text_tokenizer **out) {
    tsri_text_bert options = {.lowercase = true, .chinese = true};
    char class[TSRI_MODEL_CLASS];
    tsri_bytes bytes = {0};
    TRY(tsri_base_json_bool(p->config, p->config_path, "do_lower_case", &options.lowercase));
    TRY(tsri_base_json_bool(p->config, p->config_path, "tokenize_chinese_chars", &options.chinese));
    options.strip_accents = options.lowercase;
    tsri_model_class_of(p, class);
    options.roberta = strcmp(class, "mpnet") == 0;
    TRY(tsri_base_json_bool(p->config, p->config_path, "strip_accents", &options.strip_accents));
    for (int role = 0; role < TSRI_TEXT_ROLES; role++)
        options.names[role] = named(p->config, role_keys[role]);
    TRY(tsri_base_read_whole(path, MOST, &bytes));
    const tsr_status status = tsri_text_from_bert_vocabulary(bytes.data, bytes.size, &options, out);
    tsri_base_bytes_clear(&bytes);
    return status == TSR_OK ? TSR_OK : tsri_base_fail_within(status, "%s", path);
}

static tsr_status place_json(const tsri_model_place *p, const char *path,
                             tsri_text_tokenizer **out) {
    json_t *steps = NULL;
    tsr_status status = tsri_model_stated_steps(p, &steps);
    if (status == TSR_OK)
        status = read_json(path, p->spec->vocab, steps, out);
    json_decref(steps);
    return status;
}

/* tokenizer.model is SentencePiece's or, of Llama 3 and 4, tiktoken's. */
static tsr_status place_model(const tsri_model_place *p, const char *path,
                              tsri_text_tokenizer **out) {
    TRY(tsri_model_read_ranks(p, path, out));
    if (*out)
        return TSR_OK;
    TRY(tsri_model_read_sentencepiece(path, out));
    TRY(tsri_model_add_tokens(p, *out));
    TRY(set_roles(p, *out));
    TRY(set_space_before(p, *out));
    return set_affixes(p, true, *out);
}

/* vocab.json with merges.txt. The tokens around a text may be added ones. */
static tsr_status place_merges(const tsri_model_place *p, const char *path,
                               tsri_text_tokenizer **out) {
    bool framed;
    TRY(tsri_model_read_merges(p, path, &framed, out));
    TRY(tsri_model_add_tokens(p, *out));
    TRY(set_roles(p, *out));
    return framed ? TSR_OK : set_affixes(p, false, *out);
}

/* DeBERTa's first tokenizer: a pickle of PyTorch, whose contents vocab.json and merges.txt have, too. */
static tsr_status refuse_pickle(const tsri_model_place *p, const char *path,
                                tsri_text_tokenizer **out) {
    (void)p;
    (void)out;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s is a pickle, which is not read; put the model's vocab.json and "
                          "merges.txt, or a tokenizer.json, beside it",
                          path);
}

/* The first of these files that exists is the tokenizer. alone: what reads it leaves the added tokens out. */
static const struct {
    const char *file;
    tsr_status (*read)(const tsri_model_place *p, const char *path, tsri_text_tokenizer **out);
    bool alone;
} sources[] = {
    {"tokenizer.json", place_json, false},
    {"tekken.json", tsri_model_read_ranks, false},
    {"tokenizer.model", place_model, false},
    {"tiktoken.model", tsri_model_read_ranks, false},
    {"qwen.tiktoken", tsri_model_read_ranks, false},
    {"cl100k_base.tiktoken", tsri_model_read_ranks, false},
    {"o200k_base.tiktoken", tsri_model_read_ranks, false},
    {"source.spm", tsri_model_read_marian, true},
    {"sentencepiece.bpe.model", tsri_model_read_pieces, true},
    {"spiece.model", tsri_model_read_pieces, true},
    {"spm.model", tsri_model_read_pieces, true},
    {"merges.txt", place_merges, false},
    {"vocab.txt", read_bert, true},
    {"bpe_encoder.bin", refuse_pickle, false},
};

bool tsri_model_has_tokenizer(const char *folder) {
    bool has = false;
    for (size_t i = 0; i < sizeof sources / sizeof *sources && !has; i++) {
        char *path = tsri_base_join(folder, sources[i].file);
        has = path && tsri_base_is_file(path);
        free(path);
    }
    return has;
}

/* "model_max_length" may be a whole number, or 1e30 for no limit. */
static void set_max_length(const tsri_model_place *p, tsri_text_tokenizer *tokenizer) {
    const json_t *length = json_object_get(p->config, "model_max_length");
    if (json_is_integer(length))
        tsri_text_set_max_length(tokenizer, json_integer_value(length));
}

/* Texts are cleaned where transformers 5 does so: where the field asks for it, but not those of
 * byte-pair encoding from the tokenizers library, unless a second field insists. */
static tsr_status set_clean_up(const tsri_model_place *p, tsri_text_tokenizer *tokenizer) {
    static const char key[] = "clean_up_tokenization_spaces",
                      for_bpe[] = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_"
                                  "corrupt_output";
    bool asked = false, insists = false;
    TRY(tsri_base_json_bool(p->config, p->config_path, key, &asked));
    TRY(tsri_base_json_bool(p->config, p->config_path, for_bpe, &insists));
    insists |= tsri_model_family_in_python(p->family);
    tsri_text_set_clean_up(tokenizer, asked && (insists || !tsri_text_is_bpe(tokenizer)));
    return TSR_OK;
}

static tsr_status read_source(const tsri_model_place *p, tsri_text_tokenizer **out) {
    for (size_t i = 0; i < sizeof sources / sizeof *sources && !*out; i++) {
        char *path = tsri_base_join(p->folder, sources[i].file);
        tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
        if (status == TSR_OK && tsri_base_is_file(path))
            status = sources[i].read(p, path, out);
        if (status == TSR_OK && *out && sources[i].alone)
            status = tsri_model_add_tokens(p, *out);
        free(path);
        TRY(status);
    }
    if (!*out)
        return TSR_OK;
    set_max_length(p, *out);
    TRY(set_clean_up(p, *out));
    TRY(set_roles(p, *out));
    return tsri_model_add_languages(p, *out);
}

tsr_status tsri_model_folder_tokenizer(const char *folder, const tsri_model_spec *spec,
                                       tsri_text_tokenizer **out) {
    tsri_model_place p = {.folder = folder, .spec = spec};
    *out = NULL;
    char *model = tsri_base_join(folder, "config.json");
    p.config_path = tsri_base_join(folder, "tokenizer_config.json");
    tsr_status status = p.config_path && model ? TSR_OK : TSR_E_HOST_MEMORY;
    /* sentence-transformers reads the tokenizer.json of a table of vectors, and nothing beside it */
    const bool alone = spec && spec->encoder.embeds_only;
    if (status == TSR_OK && !alone && tsri_base_is_file(p.config_path))
        status = tsri_base_json_load(p.config_path, MOST, DEPTH, &p.config);
    if (status == TSR_OK && tsri_base_is_file(model))
        status = tsri_base_json_load(model, MOST, DEPTH, &p.model_config);
    if (status == TSR_OK && json_is_object(p.model_config) && spec && *spec->family &&
        !json_is_string(json_object_get(p.model_config, "model_type")))
        tsri_base_json_put(p.model_config, "model_type", json_string(spec->family));
    p.family = tsri_model_family_of(&p);
    if (status == TSR_OK)
        status = read_source(&p, out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    json_decref(p.config);
    json_decref(p.model_config);
    free(p.config_path);
    free(model);
    return status;
}

tsr_status tsri_model_llama2c_tokenizer(const char *folder, const tsri_model_spec *spec,
                                        tsri_text_tokenizer **out) {
    tsri_bytes bytes = {0};
    char *path = tsri_base_join(folder, "tokenizer.bin");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    *out = NULL;
    if (status == TSR_OK && tsri_base_is_file(path)) {
        status = tsri_base_read_whole(path, MOST, &bytes);
        if (status == TSR_OK &&
            (status = tsri_text_from_llama2c(bytes.data, bytes.size, spec->vocab, out)) != TSR_OK)
            tsri_base_fail_within(status, "%s", path);
    }
    tsri_base_bytes_clear(&bytes);
    free(path);
    return status;
}

/* ---- without a model ---- */

static bool ends_with(const char *name, const char *ending) {
    const size_t n = strlen(name), size = strlen(ending);
    return n > size && !strcmp(name + n - size, ending);
}

/* Mistral's SentencePiece models are called tokenizer.model.v3 and so on. */
static tsr_status tokenizer_in_file(const char *path, tsri_text_tokenizer **out) {
    tsri_io_archive *archive = NULL;
    tsri_io_format format = TSRI_IO_UNKNOWN;
    TRY(tsri_io_detect(path, &format));
    if (format == TSRI_IO_GGUF) {
        TRY(tsri_io_open(path, &archive));
        const tsr_status status = tsri_model_gguf_tokenizer(archive, out);
        tsri_io_close(&archive);
        return status;
    }
    const tsri_model_place p = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool json = ends_with(name, ".json"), model = strstr(name, ".model") != NULL;
    if (json || model || ends_with(name, ".tiktoken"))
        TRY(tsri_model_read_ranks(&p, path, out));
    if (*out)
        return TSR_OK;
    return json                               ? read_json(path, 0, NULL, out)
           : model || ends_with(name, ".spm") ? tsri_model_read_sentencepiece(path, out)
                                              : TSR_OK;
}

tsr_status tsri_model_tokenizer_at(const char *path, tsri_text_tokenizer **out) {
    tsri_model_spec none;
    *out = NULL;
    if (!tsri_base_is_folder(path))
        return tokenizer_in_file(path, out);
    tsri_model_spec_defaults(&none);
    return tsri_model_folder_tokenizer(path, &none, out);
}
