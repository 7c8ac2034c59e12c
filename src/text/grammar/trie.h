/* text/grammar/trie.h - the tokens of a vocabulary by their bytes. */
#ifndef TSRI_TEXT_GRAMMAR_TRIE_H
#define TSRI_TEXT_GRAMMAR_TRIE_H

#include "text/tokenizer/tokenizer.h"

/* A byte that some tokens have behind those of the nodes above it. Nodes lie in the order of the bytes, each
 * before those below it. */
typedef struct tsri_text_trie_node {
    int32_t token;  /* that ends here, the first of them; -1: none */
    uint32_t end;   /* the first node that is not below this one */
    uint16_t depth; /* from 1 on */
    uint8_t byte;
    bool shared; /* other tokens end here, too: its token's twins */
} tsri_text_trie_node;

typedef struct tsri_text_trie {
    tsri_text_trie_node *nodes;
    int32_t *twins; /* [V] the next token with the same bytes; -1: none */
    uint32_t n;
    int32_t V;     /* of the tokenizer */
    int32_t depth; /* of the deepest node */
} tsri_text_trie;

enum { TSRI_TEXT_MARK_ROOM = 16 };

/* What a special token is in the text of a grammar: bytes that are not UTF-8, so no characters give them. Returns how
 * many there are. */
size_t tsri_text_token_mark(int32_t id, char mark[TSRI_TEXT_MARK_ROOM]);

/* All tokens that stand for something; special ones by their marks. */
tsr_status tsri_text_trie_create(const tsri_text_tokenizer *tokenizer, tsri_text_trie **out);
void tsri_text_trie_destroy(tsri_text_trie **trie);

#endif
