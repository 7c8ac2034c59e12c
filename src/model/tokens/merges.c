/* model/tokens/merges.c - reads vocab.json with merges.txt, the files of byte-level BPE before
 * tokenizer.json existed, by turning them into a tokenizer.json. */
#include "model/tokens/families.h"

#include "base/error.h"
#include "base/files.h"
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

/* The tokens around a text. */
typedef struct frame {
    const char *cls, *sep, *type;
    bool bert;
} frame;

/* The first frame whose tokens the vocabulary has; NULL: of no frame. DeBERTa's pairs are those that it was
 * trained on; the class of transformers 5 puts [SEP] twice between two texts. */
static const frame *frame_of(const json_t *vocabulary) {
    static const frame frames[] = {{"<s>", "</s>", "RobertaProcessing", false}, /* RoBERTa, BART */
                                   {"[CLS]", "[SEP]", "BertProcessing", true}}; /* DeBERTa */
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (json_is_integer(json_object_get(vocabulary, frames[i].cls)) &&
            json_is_integer(json_object_get(vocabulary, frames[i].sep)))
            return &frames[i];
    return NULL;
}

static json_t *processor_of(const frame *f, const json_t *vocabulary) {
    return json_pack("{s:s, s:[s,I], s:[s,I]}", "type", f->type, "cls", f->cls,
                     json_integer_value(json_object_get(vocabulary, f->cls)), "sep", f->sep,
                     json_integer_value(json_object_get(vocabulary, f->sep)));
}

static tsr_status make(const tsri_model_place *place, json_t *vocabulary, const tsri_bytes *merges,
                       tsri_text_tokenizer **out) {
    const frame *around = frame_of(vocabulary);
    bool prefix = false;
    TRY(tsri_base_json_bool(place->config, place->config_path, "add_prefix_space", &prefix));
    json_t *json = json_pack("{s:{s:s, s:O, s:o}, s:o, s:{s:s, s:b}, s:{s:s}}", "model", "type",
                             "BPE", "vocab", vocabulary, "merges", lines_of(merges), "added_tokens",
                             specials_of(vocabulary), "pre_tokenizer", "type", "ByteLevel",
                             "add_prefix_space", prefix, "decoder", "type", "ByteLevel");
    if (!json)
        return tsri_base_fail(TSR_E_FORMAT,
                              "merges.txt has a line that is not UTF-8, or memory ran out");
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

tsr_status tsri_model_read_merges(const tsri_model_place *place, const char *path,
                                  tsri_text_tokenizer **out) {
    tsri_bytes merges = {0};
    json_t *vocabulary = NULL;
    char *ids = tsri_base_join(place->folder, "vocab.json");
    tsr_status status =
        ids ? tsri_base_json_load(ids, MOST, DEPTH, &vocabulary) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_read_whole(path, MOST, &merges);
    if (status == TSR_OK && (status = make(place, vocabulary, &merges, out)) != TSR_OK)
        tsri_base_fail_within(status, "%s", place->folder);
    tsri_base_bytes_clear(&merges);
    json_decref(vocabulary);
    free(ids);
    return status;
}
