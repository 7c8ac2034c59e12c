/* text/stages/post.c - puts the tokens of a template around a text or a pair of texts. */
#include "text/stages/post.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/pattern_json.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 65536, MOST_SEQUENCES = 32 };

static tsr_status add(tsri_text_post_list *list, int32_t id, int64_t type) {
    if (list->count == MOST_TOKENS)
        return tsri_base_fail(TSR_E_FORMAT, "post_processor: more than %d tokens around a text",
                              MOST_TOKENS);
    TRY(tsri_base_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items));
    list->items[list->count++] = (tsri_text_post_item){id, (int32_t)type};
    return TSR_OK;
}

static tsr_status check_id(const char *what, int64_t id, const tsri_text_vocabulary *vocabulary) {
    size_t n;
    if (tsri_text_vocabulary_piece(vocabulary, id, &n))
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT, "%s: id %lld is not in the vocabulary", what,
                          (long long)id);
}

static tsr_status add_special(const json_t *template, const char *name, int64_t type,
                              const tsri_text_vocabulary *vocabulary, tsri_text_post_list *list) {
    static const char what[] = "post_processor TemplateProcessing";
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(template, "special_tokens"), name), "ids");
    if (!json_is_array(ids))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"special_tokens\" does not give the ids of \"%s\"", what, name);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id))
            return tsri_base_fail(TSR_E_FORMAT, "%s: an id of \"%s\" is not a whole number", what,
                                  name);
        TRY(check_id(what, json_integer_value(id), vocabulary));
        TRY(add(list, (int32_t)json_integer_value(id), type));
    }
    return TSR_OK;
}

static tsr_status add_template(const json_t *json, const char *key,
                               const tsri_text_vocabulary *vocabulary, tsri_text_post_list *list) {
    static const char what[] = "post_processor TemplateProcessing";
    const json_t *pieces = NULL;
    int sequences = 0;
    TRY(tsri_text_list_of(json, what, key, &pieces));
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        const json_t *piece = json_array_get(pieces, i);
        const json_t *sequence = json_object_get(piece, "Sequence"),
                     *special = json_object_get(piece, "SpecialToken");
        const json_t *item = sequence ? sequence : special;
        const char *name = NULL;
        int64_t type = 0;
        if (!json_is_object(item))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: an item of \"%s\" is neither Sequence nor SpecialToken",
                                  what, key);
        TRY(tsri_base_json_text(item, what, "id", &name));
        TRY(tsri_base_json_int(item, what, "type_id", 0, INT32_MAX, &type));
        if (!name || (sequence && strcmp(name, "A") != 0 && strcmp(name, "B") != 0))
            return tsri_base_fail(TSR_E_FORMAT, "%s: an item of \"%s\" has the id \"%s\"", what,
                                  key, name ? name : "");
        TRY(sequence ? add(list, name[0] == 'A' ? TSRI_TEXT_SEQUENCE_A : TSRI_TEXT_SEQUENCE_B, type)
                     : add_special(json, name, type, vocabulary, list));
        sequences += sequence != NULL;
        if (sequences > MOST_SEQUENCES)
            return tsri_base_fail(TSR_E_FORMAT, "%s: more than %d sequences in \"%s\"", what,
                                  MOST_SEQUENCES, key);
    }
    return TSR_OK;
}

static tsr_status load_template(const json_t *json, const tsri_text_vocabulary *vocabulary,
                                tsri_text_post *post) {
    post->given = true;
    TRY(add_template(json, "single", vocabulary, &post->single));
    TRY(add_template(json, "pair", vocabulary, &post->pair));
    for (size_t i = 0; i < post->single.count; i++)
        if (post->single.items[i].id == TSRI_TEXT_SEQUENCE_B)
            return tsri_base_fail(TSR_E_FORMAT, "post_processor TemplateProcessing: \"single\" has "
                                                "a sequence B; only \"pair\" may have one");
    return TSR_OK;
}

/* ["[SEP]", 102] */
static tsr_status token_of(const json_t *json, const char *what, const char *key,
                           const tsri_text_vocabulary *vocabulary, int32_t *id) {
    const json_t *value = json_array_get(json_object_get(json, key), 1);
    if (!json_is_integer(value))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not a token and its id", what, key);
    TRY(check_id(what, json_integer_value(value), vocabulary));
    *id = (int32_t)json_integer_value(value);
    return TSR_OK;
}

/* [CLS] A [SEP], and B [SEP] in segment 1; RoBERTa: <s> A </s> </s> B </s>, all in segment 0. */
static tsr_status add_bert(int32_t cls, int32_t sep, bool roberta, tsri_text_post *post) {
    tsri_text_post_list *const lists[] = {&post->single, &post->pair};
    post->given = true;
    for (size_t i = 0; i < 2; i++) {
        TRY(add(lists[i], cls, 0));
        TRY(add(lists[i], TSRI_TEXT_SEQUENCE_A, 0));
        TRY(add(lists[i], sep, 0));
    }
    if (roberta)
        TRY(add(&post->pair, sep, 0));
    TRY(add(&post->pair, TSRI_TEXT_SEQUENCE_B, !roberta));
    return add(&post->pair, sep, !roberta);
}

tsr_status tsri_text_post_bert(int32_t cls, int32_t sep, tsri_text_post *post) {
    tsri_text_post_clear(post);
    return add_bert(cls, sep, false, post);
}

tsr_status tsri_text_post_roberta(int32_t cls, int32_t sep, tsri_text_post *post) {
    tsri_text_post_clear(post);
    return add_bert(cls, sep, true, post);
}

static tsr_status load_bert(const json_t *json, const char *what, bool roberta,
                            const tsri_text_vocabulary *vocabulary, tsri_text_post *post) {
    int32_t cls = -1, sep = -1;
    TRY(token_of(json, what, "cls", vocabulary, &cls));
    TRY(token_of(json, what, "sep", vocabulary, &sep));
    return add_bert(cls, sep, roberta, post);
}

static tsr_status load_one(const json_t *json, const tsri_text_vocabulary *vocabulary,
                           tsri_text_post *post) {
    const char *type = NULL;
    TRY(tsri_text_type_of(json, "post_processor", &type));
    if (strcmp(type, "ByteLevel") == 0) /* it only changes offsets */
        return TSR_OK;
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = NULL;
        TRY(tsri_text_list_of(json, "post_processor Sequence", "processors", &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(load_one(json_array_get(list, i), vocabulary, post));
        return TSR_OK;
    }
    if (post->given)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "post_processor Sequence: a second step that adds tokens, \"%s\", is not supported",
            type);
    if (strcmp(type, "TemplateProcessing") == 0)
        return load_template(json, vocabulary, post);
    if (strcmp(type, "BertProcessing") == 0)
        return load_bert(json, "post_processor BertProcessing", false, vocabulary, post);
    if (strcmp(type, "RobertaProcessing") == 0)
        return load_bert(json, "post_processor RobertaProcessing", true, vocabulary, post);
    return tsri_base_fail(TSR_E_UNSUPPORTED, "post_processor \"%s\" is not supported", type);
}

tsr_status tsri_text_post_load(const json_t *json, const tsri_text_vocabulary *vocabulary,
                               tsri_text_post *post) {
    if (!json || json_is_null(json))
        return TSR_OK;
    return load_one(json, vocabulary, post);
}

tsr_status tsri_text_post_affixes(int32_t bos, int32_t eos, tsri_text_post *post) {
    tsri_text_post_clear(post);
    post->given = true;
    const int32_t sequences[] = {TSRI_TEXT_SEQUENCE_A, TSRI_TEXT_SEQUENCE_A, TSRI_TEXT_SEQUENCE_B};
    for (int32_t i = 0; i < 3; i++) {
        tsri_text_post_list *list = i == 0 ? &post->single : &post->pair;
        if (bos >= 0)
            TRY(add(list, bos, i == 2));
        TRY(add(list, sequences[i], i == 2));
        if (eos >= 0)
            TRY(add(list, eos, i == 2));
    }
    return TSR_OK;
}

tsr_status tsri_text_post_joined(int32_t bos, int32_t eos, int32_t sep, tsri_text_post *post) {
    const int32_t parts[2][3] = {{bos, TSRI_TEXT_SEQUENCE_A, eos},
                                 {sep, TSRI_TEXT_SEQUENCE_B, eos}};
    tsri_text_post_clear(post);
    post->given = true;
    for (int text = 0; text < 2; text++)
        for (int i = 0; i < 3; i++) {
            if (parts[text][i] < 0 && i != 1)
                continue;
            TRY(add(&post->pair, parts[text][i], 0));
            if (text == 0)
                TRY(add(&post->single, parts[text][i], 0));
        }
    return TSR_OK;
}

static tsr_status append(const int32_t *data, size_t n, int32_t type, tsri_text_ids *ids,
                         tsri_text_ids *types) {
    TRY(tsri_text_ids_append(ids, data, n));
    for (size_t i = 0; types && i < n; i++)
        TRY(tsri_text_ids_append(types, &type, 1));
    return TSR_OK;
}

tsr_status tsri_text_post_apply(const tsri_text_post *post, const tsri_text_ids *a,
                                const tsri_text_ids *b, bool special, tsri_text_ids *ids,
                                tsri_text_ids *types) {
    const tsri_text_post_list *list = b ? &post->pair : &post->single;
    if (!post->given) {
        TRY(append(a->data, a->count, 0, ids, types));
        return b ? append(b->data, b->count, 1, ids, types) : TSR_OK;
    }
    for (size_t i = 0; i < list->count; i++) {
        const tsri_text_post_item item = list->items[i];
        if (item.id == TSRI_TEXT_SEQUENCE_A)
            TRY(append(a->data, a->count, item.type, ids, types));
        else if (item.id == TSRI_TEXT_SEQUENCE_B)
            TRY(append(b->data, b->count, item.type, ids, types));
        else if (special)
            TRY(append(&item.id, 1, item.type, ids, types));
    }
    return TSR_OK;
}

void tsri_text_post_clear(tsri_text_post *post) {
    free(post->single.items);
    free(post->pair.items);
    *post = (tsri_text_post){0};
}
