/* text/grammar/trie.c - sorts the tokens of a vocabulary by their bytes. */
#include "text/grammar/trie.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARK = 0xFF };

typedef struct token {
    const char *bytes;
    size_t at, n;
    int32_t id;
} token;

static int by_bytes(const void *a, const void *b) {
    const token *x = a, *y = b;
    const int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);
    return order          ? order
           : x->n != y->n ? (x->n > y->n) - (x->n < y->n)
                          : (x->id > y->id) - (x->id < y->id);
}

size_t tsri_text_token_mark(int32_t id, char mark[TSRI_TEXT_MARK_ROOM]) {
    return (size_t)snprintf(mark, TSRI_TEXT_MARK_ROOM, "%c%d%c", MARK, (int)id, MARK);
}

/* What a token is in the text of a grammar. The byte of marks stands in no UTF-8, so a token that has it, as a vocabulary
 * of all bytes does, is in no text. */
static tsr_status append_token(const tsri_text_tokenizer *t, int32_t id, tsri_bytes *all) {
    char mark[TSRI_TEXT_MARK_ROOM];
    const size_t before = all->size;
    if (tsri_text_is_special(t, id))
        return tsri_base_bytes_append(all, mark, tsri_text_token_mark(id, mark));
    TRY(tsri_text_token_bytes(t, id, all));
    if (all->size > before && memchr(all->data + before, MARK, all->size - before))
        all->size = before;
    return TSR_OK;
}

/* The tokens with bytes, sorted; their bytes are in `all`. */
static tsr_status collect(const tsri_text_tokenizer *t, token *tokens, size_t *n, tsri_bytes *all) {
    size_t size;
    *n = 0;
    for (int32_t id = 0; id < tsri_text_vocabulary_size(t); id++) {
        const size_t before = all->size;
        if (!tsri_text_piece_of(t, id, &size))
            continue;
        TRY(append_token(t, id, all));
        size = all->size - before;
        if (size && size <= UINT16_MAX)
            tokens[(*n)++] = (token){.at = before, .n = size, .id = id};
    }
    for (size_t i = 0; i < *n; i++)
        tokens[i].bytes = all->data + tokens[i].at;
    qsort(tokens, *n, sizeof *tokens, by_bytes);
    return TSR_OK;
}

static size_t common(const token *a, const token *b) {
    size_t n = 0;
    while (n < a->n && n < b->n && a->bytes[n] == b->bytes[n])
        n++;
    return n;
}

/* path: [UINT16_MAX + 1] the open nodes by depth */
static void fill(tsri_text_trie *trie, const token *tokens, size_t n, uint32_t *path) {
    size_t open = 0;
    for (size_t i = 0; i < n; i++) {
        const token *t = &tokens[i];
        const size_t same = i ? common(&tokens[i - 1], t) : 0;
        if (i && same == t->n && tokens[i - 1].n == t->n) {
            trie->twins[tokens[i - 1].id] = t->id;
            trie->nodes[path[open]].shared = true;
            continue;
        }
        for (; open > same; open--)
            trie->nodes[path[open]].end = trie->n;
        for (; open < t->n; open++) {
            path[open + 1] = trie->n;
            trie->nodes[trie->n++] = (tsri_text_trie_node){
                .token = -1, .depth = (uint16_t)(open + 1), .byte = (uint8_t)t->bytes[open]};
        }
        trie->nodes[path[open]].token = t->id;
        trie->depth = (int32_t)open > trie->depth ? (int32_t)open : trie->depth;
    }
    for (; open > 0; open--)
        trie->nodes[path[open]].end = trie->n;
}

static tsr_status make(const tsri_text_tokenizer *tokenizer, tsri_text_trie *trie, token *tokens,
                       tsri_bytes *all) {
    uint32_t *path;
    size_t n, nodes = 0;
    TRY(collect(tokenizer, tokens, &n, all));
    for (size_t i = 0; i < n; i++)
        nodes += tokens[i].n - (i ? common(&tokens[i - 1], &tokens[i]) : 0);
    TRY(tsri_base_new(nodes, sizeof *trie->nodes, &trie->nodes));
    TRY(tsri_base_new(UINT16_MAX + 1, sizeof *path, &path));
    fill(trie, tokens, n, path);
    free(path);
    return TSR_OK;
}

tsr_status tsri_text_trie_create(const tsri_text_tokenizer *tokenizer, tsri_text_trie **out) {
    const int32_t V = tsri_text_vocabulary_size(tokenizer);
    tsri_text_trie *trie;
    token *tokens = NULL;
    tsri_bytes all = {0};
    TRY(tsri_base_new(1, sizeof *trie, &trie));
    trie->V = V;
    tsr_status status = tsri_base_new((size_t)V, sizeof *tokens, &tokens);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)V, sizeof *trie->twins, &trie->twins);
    for (int32_t i = 0; i < V && status == TSR_OK; i++)
        trie->twins[i] = -1;
    if (status == TSR_OK)
        status = make(tokenizer, trie, tokens, &all);
    free(tokens);
    tsri_base_bytes_clear(&all);
    if (status != TSR_OK)
        tsri_text_trie_destroy(&trie);
    *out = trie;
    return status;
}

void tsri_text_trie_destroy(tsri_text_trie **trie) {
    if (!*trie)
        return;
    free((*trie)->nodes);
    free((*trie)->twins);
    free(*trie);
    *trie = NULL;
}
