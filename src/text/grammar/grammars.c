/* text/grammar/grammars.c - keeps the grammars that were used last. */
#include "text/grammar/grammars.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/grammar/read.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 8 };

typedef struct kept {
    char *text;
    tsri_text_language_of_grammar language;
    tsri_text_grammar *grammar;
} kept;

struct tsri_text_grammars {
    const tsri_text_tokenizer *tokenizer;
    tsri_text_trie *trie;
    kept items[KEPT]; /* the one used last first */
    size_t n;
};

tsr_status tsri_text_grammars_create(const tsri_text_tokenizer *tokenizer,
                                     tsri_text_grammars **out) {
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->tokenizer = tokenizer;
    return TSR_OK;
}

static void drop_last(tsri_text_grammars *g) {
    kept *last = &g->items[--g->n];
    free(last->text);
    tsri_text_grammar_release(&last->grammar);
}

void tsri_text_grammars_destroy(tsri_text_grammars **grammars) {
    if (!*grammars)
        return;
    while ((*grammars)->n)
        drop_last(*grammars);
    tsri_text_trie_destroy(&(*grammars)->trie);
    free(*grammars);
    *grammars = NULL;
}

static tsr_status read_schema(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                              tsri_text_tree *tree) {
    (void)tokenizer;
    return tsri_text_schema_read_text(text, n, tree);
}

/* By language. */
static const struct {
    const char *name;
    tsr_status (*read)(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                       tsri_text_tree *tree);
} languages[] = {{"grammar", tsri_text_gbnf_read}, {"JSON schema", read_schema}};

/* tokenizer and trie: NULL without a vocabulary. */
static tsr_status make(tsri_text_language_of_grammar language, const char *text,
                       const tsri_text_tokenizer *tokenizer, const tsri_text_trie *trie,
                       tsri_text_grammar **out) {
    tsri_text_tree tree = {0};
    tsr_status status = languages[language].read(text, strlen(text), tokenizer, &tree);
    if (status == TSR_OK)
        status = tsri_text_grammar_create(&tree, trie, out);
    tsri_text_tree_clear(&tree);
    return status == TSR_OK ? TSR_OK
                            : tsri_base_fail_within(status, "%s", languages[language].name);
}

static tsr_status add(tsri_text_grammars *g, tsri_text_language_of_grammar language,
                      const char *text) {
    kept item = {.language = language};
    if (!g->trie)
        TRY(tsri_text_trie_create(g->tokenizer, &g->trie));
    TRY(make(language, text, g->tokenizer, g->trie, &item.grammar));
    item.text = tsri_base_copy_text(text, strlen(text));
    if (!item.text) {
        tsri_text_grammar_release(&item.grammar);
        return TSR_E_HOST_MEMORY;
    }
    if (g->n == KEPT)
        drop_last(g);
    g->items[g->n++] = item;
    return TSR_OK;
}

tsr_status tsri_text_grammars_match(tsri_text_grammars *g, tsri_text_language_of_grammar language,
                                    const char *text, tsri_text_matcher **out) {
    size_t at = 0;
    *out = NULL;
    while (at < g->n && (g->items[at].language != language || strcmp(g->items[at].text, text)))
        at++;
    if (at == g->n) {
        TRY(add(g, language, text));
        at = g->n - 1;
    }
    const kept found = g->items[at];
    memmove(g->items + 1, g->items, at * sizeof *g->items);
    g->items[0] = found;
    return tsri_text_matcher_create(found.grammar, out);
}

tsr_status tsri_text_grammar_check(tsri_text_language_of_grammar language, const char *text) {
    tsri_text_grammar *grammar = NULL;
    const tsr_status status = make(language, text, NULL, NULL, &grammar);
    tsri_text_grammar_release(&grammar);
    return status;
}
