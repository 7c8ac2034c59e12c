/* text/load/bert.c - BERT's vocab.txt, the format used before tokenizer.json existed. */
#include "base/error.h"
#include "text/load/load.h"
#include "text/tokenizer/parts.h"

#include <string.h>

/* An empty line takes an id but has no piece; of two equal lines the later one is found. */
static tsr_status read_lines(const char *text, size_t n, tsri_text_vocabulary *vocabulary) {
    int64_t id = 0;
    for (size_t at = 0; at < n; id++) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t next = end ? (size_t)(end - text) + 1 : n;
        size_t size = (end ? (size_t)(end - text) : n) - at;
        if (size && text[at + size - 1] == '\r')
            size--;
        if (size)
            TRY(tsri_text_vocabulary_put(vocabulary, id, text + at, size, true));
        at = next;
    }
    if (vocabulary->count == 0)
        return tsri_base_fail(TSR_E_FORMAT, "no pieces; a vocab.txt has one piece on each line");
    return TSR_OK;
}

static tsr_status add_specials(const tsri_text_bert *options, tsri_text_tokenizer *t) {
    static const char *const
        bert[TSRI_TEXT_ROLES] = {[TSRI_TEXT_UNK] = "[UNK]",
                                 [TSRI_TEXT_PAD] = "[PAD]",
                                 [TSRI_TEXT_MASK] = "[MASK]",
                                 [TSRI_TEXT_CLS] = "[CLS]",
                                 [TSRI_TEXT_SEP] = "[SEP]"},
        *const roberta[TSRI_TEXT_ROLES] = {
            [TSRI_TEXT_BOS] = "<s>",   [TSRI_TEXT_EOS] = "</s>",    [TSRI_TEXT_UNK] = "[UNK]",
            [TSRI_TEXT_PAD] = "<pad>", [TSRI_TEXT_MASK] = "<mask>", [TSRI_TEXT_CLS] = "<s>",
            [TSRI_TEXT_SEP] = "</s>"};
    const char *const *usual = options->roberta ? roberta : bert;
    for (int role = 0; role < TSRI_TEXT_ROLES; role++) {
        const char *name = options->names[role] ? options->names[role] : usual[role];
        const int32_t id =
            name ? tsri_text_vocabulary_find(&t->vocabulary, name, strlen(name)) : -1;
        if (id < 0)
            continue;
        const tsri_text_added_token token = {
            .id = id, .special = true, .lstrip = options->roberta && role == TSRI_TEXT_MASK};
        t->roles[role] = id;
        if (tsri_text_is_special(t, id)) /* a token of two roles */
            continue;
        TRY(tsri_text_added_put(&t->added, &token, name, strlen(name), NULL));
        TRY(tsri_text_mark_special(t, id));
    }
    return TSR_OK;
}

static tsr_status load(const char *text, size_t n, const tsri_text_bert *options,
                       tsri_text_tokenizer *t) {
    const tsri_text_bert_rules rules = {.clean = true,
                                        .chinese = options->chinese,
                                        .strip_accents = options->strip_accents,
                                        .lowercase = options->lowercase};
    TRY(read_lines(text, n, &t->vocabulary));
    TRY(add_specials(options, t));
    const tsri_text_word_piece_options pieces = {
        .unknown = t->roles[TSRI_TEXT_UNK], .longest_word = 100, .inner_prefix = "##"};
    t->row = &tsri_text_word_piece;
    TRY(tsri_text_word_piece_new(&pieces, &t->vocabulary, &t->model));
    TRY(tsri_text_normalizer_bert(&rules, &t->normalizer));
    TRY(tsri_text_pre_tokenizer_bert(&t->pre_tokenizer));
    TRY(tsri_text_decoder_word_piece("##", false, true, &t->decoder));
    const int32_t cls = t->roles[TSRI_TEXT_CLS], sep = t->roles[TSRI_TEXT_SEP];
    return cls < 0 || sep < 0 ? TSR_OK
           : options->roberta ? tsri_text_post_roberta(cls, sep, &t->post)
                              : tsri_text_post_bert(cls, sep, &t->post);
}

tsr_status tsri_text_from_bert_vocabulary(const char *text, size_t n, const tsri_text_bert *options,
                                          tsri_text_tokenizer **out) {
    TRY(tsri_text_tokenizer_new("vocab.txt", out));
    const tsr_status status = load(text, n, options, *out);
    if (status != TSR_OK)
        tsri_text_tokenizer_destroy(out);
    return status;
}
