/* train/start/init_folder.c - writes the other files of a new model, beside config.json and
 * weights: tokenizer, generation settings, model card. */
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "model/tokens/tokens.h"
#include "train/start/init_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 30 };

static tsr_status copy(const char *from, const char *folder, const char *name) {
    tsri_bytes bytes = {0};
    char *to = tsri_base_join(folder, name);
    tsr_status status = to ? tsri_base_folder_make_parent(to) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_read_whole(from, COPY_BYTES, &bytes);
    if (status == TSR_OK)
        status = tsri_base_write_whole(to, bytes.data, bytes.size);
    tsri_base_bytes_clear(&bytes);
    free(to);
    return status;
}

/* Copies the files with these names that the folder has, and adds their number. */
static tsr_status copy_all(const char *from, const char *const *names, const char *folder,
                           size_t *found) {
    for (; *names; names++) {
        char *path = tsri_base_join(from, *names);
        tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
        if (status == TSR_OK && tsri_base_is_file(path)) {
            status = copy(path, folder, *names);
            ++*found;
        }
        free(path);
        TRY(status);
    }
    return TSR_OK;
}

tsr_status tsri_train_copy_tokenizer(const char *from, const char *folder) {
    size_t found = 0;
    if (tsri_base_is_file(from))
        return copy(from, folder, "tokenizer.json");
    if (!tsri_base_is_folder(from))
        return tsri_base_fail(TSR_E_IO,
                              "tokenizer \"%.200s\" is neither bpe nor char, which are trained on "
                              "the data, nor a file or folder that exists",
                              from);
    TRY(copy_all(from, tsri_model_tokenizer_files, folder, &found));
    TRY(copy_all(from, tsri_model_tokenizer_settings, folder, &found));
    return found ? TSR_OK
                 : tsri_base_fail(TSR_E_FORMAT,
                                  "%s: this folder has no tokenizer (tokenizer.json, vocab.txt, "
                                  "tokenizer.model, ...)",
                                  from);
}

/* ---- special tokens ---- */

/* The names that are in use for each role, the likeliest first; NULL at the end. */
static const struct role {
    tsri_text_role role;
    const char *key;
    const char *const *names;
} roles[] = {
#define NAMES(...)          \
    (const char *const[]) { \
        __VA_ARGS__, NULL   \
    }
    {TSRI_TEXT_BOS, "bos_token", NAMES("<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>")},
    {TSRI_TEXT_EOS, "eos_token", NAMES("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>")},
    {TSRI_TEXT_UNK, "unk_token", NAMES("<unk>", "[UNK]")},
    {TSRI_TEXT_PAD, "pad_token", NAMES("<pad>", "[PAD]")},
    {TSRI_TEXT_MASK, "mask_token", NAMES("<mask>", "[MASK]")},
    {TSRI_TEXT_CLS, "cls_token", NAMES("[CLS]")},
    {TSRI_TEXT_SEP, "sep_token", NAMES("[SEP]")},
#undef NAMES
};

static const char *special_of(const tsri_train_specials *specials, tsri_text_role role) {
    return role == TSRI_TEXT_BOS    ? specials->bos
           : role == TSRI_TEXT_EOS  ? specials->eos
           : role == TSRI_TEXT_UNK  ? specials->unk
           : role == TSRI_TEXT_PAD  ? specials->pad
           : role == TSRI_TEXT_MASK ? specials->mask
                                    : NULL;
}

static int32_t id_of(const tsri_text_tokenizer *tokenizer, const char *name) {
    return name ? tsri_text_id_of(tokenizer, name, strlen(name)) : -1;
}

/* The token of a role: the one that this kind of model names, else the first name in use that the
 * tokenizer has. */
static const char *name_of(const tsri_text_tokenizer *tokenizer,
                           const tsri_train_specials *specials, const struct role *role) {
    const char *own = specials ? special_of(specials, role->role) : NULL;
    if (id_of(tokenizer, own) >= 0)
        return own;
    for (const char *const *name = role->names; *name; name++)
        if (id_of(tokenizer, *name) >= 0)
            return *name;
    return NULL;
}

static tsr_status write_tokenizer_config(const char *folder, int64_t max_positions,
                                         const tsri_train_specials *specials,
                                         const tsri_text_tokenizer *tokenizer) {
    json_t *object =
        json_pack("{s:s s:b s:I}", "tokenizer_class", "PreTrainedTokenizerFast",
                  "clean_up_tokenization_spaces", 0, "model_max_length", (json_int_t)max_positions);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const char *name = name_of(tokenizer, specials, &roles[i]);
        if (name)
            tsri_base_json_put(object, roles[i].key, json_string(name));
    }
    const tsr_status status = tsri_train_write_json(folder, "tokenizer_config.json", object);
    json_decref(object);
    return status;
}

tsr_status tsri_train_init_tokenizer(const char *folder, int64_t max_positions,
                                     const tsri_train_specials *specials,
                                     tsri_train_special_ids *out) {
    tsri_text_tokenizer *tokenizer = NULL;
    char *path = tsri_base_join(folder, "tokenizer_config.json");
    tsr_status status = path ? tsri_model_tokenizer_at(folder, &tokenizer) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && !tokenizer)
        status = tsri_base_fail(TSR_E_FORMAT, "%s: there is no tokenizer.json", folder);
    if (status == TSR_OK && !tsri_base_is_file(path)) {
        status = write_tokenizer_config(folder, max_positions, specials, tokenizer);
        tsri_text_tokenizer_destroy(&tokenizer);
        if (status == TSR_OK)
            status = tsri_model_tokenizer_at(folder, &tokenizer); /* with its roles */
    }
    if (status == TSR_OK)
        *out = (tsri_train_special_ids){.vocab = tsri_text_vocabulary_size(tokenizer),
                                        .bos = tsri_text_role_id(tokenizer, TSRI_TEXT_BOS),
                                        .eos = tsri_text_role_id(tokenizer, TSRI_TEXT_EOS),
                                        .pad = tsri_text_role_id(tokenizer, TSRI_TEXT_PAD)};
    tsri_text_tokenizer_destroy(&tokenizer);
    free(path);
    return status;
}

/* ---- files ---- */

tsr_status tsri_train_write_json(const char *folder, const char *name, const json_t *object) {
    char *path = tsri_base_join(folder, name);
    const tsr_status status =
        path ? tsri_base_json_save(path, object, JSON_INDENT(2) | JSON_REAL_PRECISION(15))
             : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

tsr_status tsri_train_write_generation(const char *folder, const json_t *config) {
    static const char *const keys[] = {"bos_token_id", "eos_token_id", "pad_token_id",
                                       "decoder_start_token_id"};
    const bool pair = json_is_true(json_object_get(config, "is_encoder_decoder"));
    const json_t *longest = json_object_get(config, "max_position_embeddings"),
                 *pad = json_object_get(config, "pad_token_id");
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(config, keys[i]);
        if (value)
            tsri_base_json_put(object, keys[i], json_incref(value));
    }
    if (pair) {
        tsri_base_json_put(object, "num_beams", json_integer(4));
        tsri_base_json_put(object, "max_length", json_integer(json_integer_value(longest)));
    }
    if (pair && pad) /* a target begins with the padding token, which must not occur later */
        tsri_base_json_put(object, "bad_words_ids", json_pack("[[O]]", pad));
    const tsr_status status = tsri_train_write_json(folder, "generation_config.json", object);
    json_decref(object);
    return status;
}

tsr_status tsri_train_write_card(const char *folder, const char *origin,
                                 tsri_training_objective objective, const tsri_train_made *made) {
    static const char *const commands[] = {
        [TSRI_OBJECTIVE_NEXT] = "tessera generate -m FOLDER \"Once\"",
        [TSRI_OBJECTIVE_MASKED] = "tessera fill-mask -m FOLDER \"A [MASK].\"",
        [TSRI_OBJECTIVE_TRANSLATE] = "tessera translate -m FOLDER < lines.txt",
        [TSRI_OBJECTIVE_CLASSIFY] = "tessera classify -m FOLDER < lines.txt",
        [TSRI_OBJECTIVE_TOKENS] = "tessera classify -m FOLDER < lines.txt"};
    char text[2048];
    char *path = tsri_base_join(folder, "README.md");
    int n = tsri_base_print(
        text, sizeof text,
        "# A model trained by Tessera\n\n"
        "Made from %s: `%s`, %.1f million parameters. Where run.json and log.jsonl lie "
        "beside this file, they tell\nthe settings of the training and its course.\n\n"
        "```\n%s\n```\n\n",
        origin, made->family, (double)made->parameters * 1e-6, commands[objective]);
    n += made->class[0]
             ? snprintf(text + n, sizeof text - (size_t)n,
                        "In Python, with transformers:\n\n```\nfrom transformers import %s, "
                        "AutoTokenizer\n\nmodel = %s.from_pretrained(\"FOLDER\")\ntokenizer = "
                        "AutoTokenizer.from_pretrained(\"FOLDER\")\n```\n",
                        made->class, made->class)
             : snprintf(text + n, sizeof text - (size_t)n,
                        "Its architecture is Tessera's own: transformers has no class for it.\n");
    const tsr_status status =
        path ? tsri_base_write_whole(path, text, (size_t)n) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}
