/* text/grammar/grammar.h - a grammar that constrains a text token by token: which tokens may follow, and
 * whether the text may end. */
#ifndef TSRI_TEXT_GRAMMAR_GRAMMAR_H
#define TSRI_TEXT_GRAMMAR_GRAMMAR_H

#include "text/grammar/tree.h"
#include "text/grammar/trie.h"

typedef struct tsri_text_grammar tsri_text_grammar;
typedef struct tsri_text_matcher tsri_text_matcher;

/* trie: borrowed; NULL: there will be no masks. The caller owns one reference. A grammar and its matchers
 * are used by one thread at a time.
 *
 * error  TSR_E_ARGUMENT  as tsri_text_automaton_make, or the tree has failed */
tsr_status tsri_text_grammar_create(const tsri_text_tree *tree, const tsri_text_trie *trie,
                                    tsri_text_grammar **out);
void tsri_text_grammar_release(tsri_text_grammar **grammar);

/* A text that begins; it holds a reference. */
tsr_status tsri_text_matcher_create(tsri_text_grammar *grammar, tsri_text_matcher **out);
void tsri_text_matcher_destroy(tsri_text_matcher **matcher);

/* Adds bytes to the text. Bytes that the grammar does not allow leave it dead: nothing may follow, not even
 * the end.
 * error  TSR_E_ARGUMENT  the grammar is too ambiguous at this point */
tsr_status tsri_text_matcher_take(tsri_text_matcher *matcher, const char *bytes, size_t n);
/* Adds a special token. One that the grammar does not allow, such as a token that settings force, is left out of the
 * text. */
tsr_status tsri_text_matcher_take_special(tsri_text_matcher *matcher, int32_t id);
/* Whether the text may end here; whether it must, because nothing may follow; whether it is dead. */
bool tsri_text_matcher_may_end(const tsri_text_matcher *matcher);
bool tsri_text_matcher_must_end(const tsri_text_matcher *matcher);
bool tsri_text_matcher_dead(const tsri_text_matcher *matcher);

/* The tokens that may follow: bit id % 32 of word id / 32, for ids below the tokenizer's V. Masks are kept
 * by state, so most are a look-up. Valid until the next call for the same grammar.
 * error  as take */
int32_t tsri_text_matcher_vocabulary(const tsri_text_matcher *matcher); /* V */
tsr_status tsri_text_matcher_mask(tsri_text_matcher *matcher, const uint32_t **mask);

#endif
