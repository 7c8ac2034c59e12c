/* How DeepSeek's tokenizers cut texts: by the steps of a tokenizer.json, and by the name that GGUF files have
 * for them. */
#include "golden.h"

#include "base/error.h"
#include "text/load/load.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a GGUF file has of the tokenizer; the texts of tokens are json's. */
typedef struct vocabulary {
    tsri_text_piece *tokens, *merges;
    char (*joined)[200]; /* merges as GGUF has them: two pieces and a space */
    tsri_text_gguf gguf;
} vocabulary;

static void open_vocabulary(const json_t *tokenizer, vocabulary *v) {
    const json_t *model = json_object_get(tokenizer, "model"),
                 *merges = json_object_get(model, "merges");
    json_t *vocab = json_object_get(model, "vocab"), *id;
    const char *text;
    const size_t n = json_object_size(vocab), n_merges = json_array_size(merges);
    v->tokens = calloc(n, sizeof *v->tokens);
    v->merges = calloc(n_merges, sizeof *v->merges);
    v->joined = calloc(n_merges, sizeof *v->joined);
    cr_assert(v->tokens && v->merges && v->joined);
    json_object_foreach(vocab, text, id) v->tokens[json_integer_value(id)] =
        (tsri_text_piece){text, strlen(text)};
    for (size_t i = 0; i < n_merges; i++) {
        const json_t *pair = json_array_get(merges, i);
        const int size = snprintf(v->joined[i], sizeof v->joined[i], "%s %s",
                                  json_string_value(json_array_get(pair, 0)),
                                  json_string_value(json_array_get(pair, 1)));
        cr_assert(size < (int)sizeof v->joined[i]);
        v->merges[i] = (tsri_text_piece){v->joined[i], (size_t)size};
    }
    v->gguf = tsri_text_gguf_unstated;
    v->gguf.model = "gpt2";
    v->gguf.tokens = v->tokens;
    v->gguf.token_count = n;
    v->gguf.merges = v->merges;
    v->gguf.merge_count = n_merges;
}

static void close_vocabulary(vocabulary *v) {
    free(v->tokens);
    free(v->merges);
    free(v->joined);
}

static void check_lines(const tsri_text_tokenizer *t, const json_t *lines, const json_t *ids) {
    cr_assert_eq(json_array_size(ids), json_array_size(lines));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        golden_encodes(t, json_string_value(line), json_string_length(line), 0,
                       json_array_get(ids, i));
    }
}

Test(text, deepseek_cuts_texts_as_its_files_say) {
    json_t *file = golden_own_json("deepseek.json");
    const json_t *lines = json_object_get(file, "lines"), *cases = json_object_get(file, "cases"),
                 *base = json_object_get(file, "tokenizer");
    vocabulary v;
    open_vocabulary(base, &v);
    cr_assert_eq(json_array_size(cases), 3);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *row = json_array_get(cases, i), *ids = json_object_get(row, "ids");
        json_t *whole = golden_with_parts(base, json_object_get(row, "with"));
        tsri_text_tokenizer *t = golden_from_json(whole), *gguf = NULL;
        check_lines(t, lines, ids);
        v.gguf.pre = json_string_value(json_object_get(row, "pre"));
        cr_assert_eq(tsri_text_from_gguf(&v.gguf, &gguf), TSR_OK, "%s", tsr_error_last());
        check_lines(gguf, lines, ids);
        tsri_text_tokenizer_destroy(&gguf);
        tsri_text_tokenizer_destroy(&t);
        json_decref(whole);
    }
    close_vocabulary(&v);
    json_decref(file);
}
