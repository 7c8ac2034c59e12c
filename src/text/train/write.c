/* text/train/write.c - writes a trained tokenizer as tokenizer.json in the form of Hugging Face's
 * library: vocabulary by id, merges by rank. */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/base/patterns.h"
#include "text/train/train.h"

#include <stdlib.h>
#include <string.h>

static json_t *added_tokens(const tsr_tokenizer_training *o) {
    json_t *list = json_array();
    for (size_t i = 0; i < o->n_specials; i++)
        tsri_base_json_append(list, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)i,
                                              "content", o->specials[i], "single_word", 0, "lstrip",
                                              0, "rstrip", 0, "normalized", 0, "special", 1));
    return list;
}

static json_t *byte_level(bool prefix) {
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", prefix,
                     "trim_offsets", 1, "use_regex", 1);
}

static json_t *special(const char *name, int segment) {
    return json_pack("{s:{s:s,s:i}}", "SpecialToken", "id", name, "type_id", segment);
}

static json_t *sequence(const char *which, int segment) {
    return json_pack("{s:{s:s,s:i}}", "Sequence", "id", which, "type_id", segment);
}

/* begin A end, and begin A end B end. */
static json_t *template(const tsr_tokenizer_training *o, const tsri_text_vocabulary *pieces) {
    if (!o->begin && !o->end)
        return json_null();
    const char *const around[] = {o->begin, o->end};
    json_t *lists[2] = {json_array(), json_array()}, *tokens = json_object();
    for (int i = 0; i < 2; i++) {
        if (o->begin)
            tsri_base_json_append(lists[i], special(o->begin, 0));
        tsri_base_json_append(lists[i], sequence("A", 0));
        if (o->end)
            tsri_base_json_append(lists[i], special(o->end, 0));
    }
    tsri_base_json_append(lists[1], sequence("B", 1));
    if (o->end)
        tsri_base_json_append(lists[1], special(o->end, 1));
    for (int i = 0; i < 2; i++)
        if (around[i])
            tsri_base_json_put(
                tokens, around[i],
                json_pack("{s:s,s:[i],s:[s]}", "id", around[i], "ids",
                          (int)tsri_text_vocabulary_find(pieces, around[i], strlen(around[i])),
                          "tokens", around[i]));
    return json_pack("{s:s,s:o,s:o,s:o}", "type", "TemplateProcessing", "single", lists[0], "pair",
                     lists[1], "special_tokens", tokens);
}

static tsr_status vocabulary(const tsri_text_vocabulary *pieces, json_t *model) {
    json_t *vocab = json_object();
    tsri_bytes name = {0};
    tsr_status status = TSR_OK;
    for (size_t id = 0; id < pieces->count && status == TSR_OK; id++) {
        size_t n;
        const char *piece = tsri_text_vocabulary_piece(pieces, (int64_t)id, &n);
        name.size = 0;
        status = tsri_base_bytes_append(&name, piece, n);
        if (status == TSR_OK)
            tsri_base_json_put(vocab, name.data, json_integer((json_int_t)id));
    }
    tsri_base_bytes_clear(&name);
    tsri_base_json_put(model, "vocab", vocab);
    return status;
}

static int by_pair(const void *a, const void *b) {
    const tsri_text_merge_pair *const *x = a, *const *y = b;
    if ((*x)->left != (*y)->left)
        return (*x)->left < (*y)->left ? -1 : 1;
    if ((*x)->right != (*y)->right)
        return (*x)->right < (*y)->right ? -1 : 1;
    return *x < *y ? -1 : *x > *y; /* by rank */
}

/* Of a pair that merged twice only the later rank counts: the earlier ones are marked. */
static tsr_status forget_doubles(tsri_text_merges *merges) {
    tsri_text_merge_pair **sorted = NULL;
    TRY(tsri_base_new(merges->count, sizeof *sorted, &sorted));
    for (size_t i = 0; i < merges->count; i++)
        sorted[i] = &merges->pairs[i];
    qsort(sorted, merges->count, sizeof *sorted, by_pair);
    for (size_t i = 0; i + 1 < merges->count; i++)
        if (sorted[i]->left == sorted[i + 1]->left && sorted[i]->right == sorted[i + 1]->right)
            sorted[i]->left = -1;
    free(sorted);
    return TSR_OK;
}

static tsr_status write_merges(const tsri_text_vocabulary *pieces, tsri_text_merges *merges,
                               json_t *model) {
    json_t *list = json_array();
    tsri_bytes text = {0};
    tsr_status status = forget_doubles(merges);
    for (size_t i = 0; i < merges->count && status == TSR_OK; i++) {
        size_t na, nb;
        if (merges->pairs[i].left < 0)
            continue;
        const char *a = tsri_text_vocabulary_piece(pieces, merges->pairs[i].left, &na),
                   *b = tsri_text_vocabulary_piece(pieces, merges->pairs[i].right, &nb);
        text.size = 0;
        status = tsri_base_bytes_append(&text, a, na);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(&text, " ", 1);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(&text, b, nb);
        if (status == TSR_OK)
            tsri_base_json_append(list, json_stringn(text.data, text.size));
    }
    tsri_base_bytes_clear(&text);
    tsri_base_json_put(model, "merges", list);
    return status;
}

static tsr_status fill_bpe(const tsri_text_vocabulary *pieces, tsri_text_merges *merges,
                           json_t *root) {
    json_t *model = json_pack("{s:s,s:n,s:n,s:n,s:n,s:b,s:b,s:b}", "type", "BPE", "dropout",
                              "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                              "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0);
    tsri_base_json_put(root, "pre_tokenizer", byte_level(false));
    tsri_base_json_put(root, "decoder", byte_level(true));
    tsri_base_json_put(root, "model", model);
    TRY(vocabulary(pieces, model));
    return write_merges(pieces, merges, model);
}

static tsr_status fill_characters(const tsr_tokenizer_training *o,
                                  const tsri_text_vocabulary *pieces, json_t *root) {
    json_t *model = json_pack("{s:s}", "type", "WordLevel");
    tsri_base_json_put(root, "pre_tokenizer",
                       json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex",
                                 tsri_text_pattern_character, "behavior", "Isolated", "invert", 0));
    tsri_base_json_put(root, "decoder", json_pack("{s:s}", "type", "Fuse"));
    tsri_base_json_put(root, "model", model);
    TRY(vocabulary(pieces, model));
    /* Hugging Face's library needs a text here; "" is not a piece, so unknown characters are refused. */
    tsri_base_json_put(model, "unk_token", json_string(o->unknown ? o->unknown : ""));
    return TSR_OK;
}

tsr_status tsri_text_write_trained(const tsr_tokenizer_training *o,
                                   const tsri_text_vocabulary *pieces, tsri_text_merges *merges,
                                   tsri_bytes *json) {
    json_t *root = json_pack("{s:s,s:n,s:n}", "version", "1.0", "truncation", "padding");
    tsri_base_json_put(root, "added_tokens", added_tokens(o));
    tsri_base_json_put(root, "normalizer", json_null());
    tsri_base_json_put(root, "post_processor", template(o, pieces));
    tsr_status status = o->type == TSR_TOKENIZER_BPE ? fill_bpe(pieces, merges, root)
                                                     : fill_characters(o, pieces, root);
    char *text = tsri_base_json_print(root, JSON_INDENT(1));
    if (status == TSR_OK && !text)
        status = tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory for a tokenizer.json");
    if (status == TSR_OK)
        status = tsri_base_bytes_append(json, text, strlen(text));
    if (status == TSR_OK)
        status = tsri_base_bytes_append(json, "\n", 1);
    free(text);
    json_decref(root);
    return status;
}
