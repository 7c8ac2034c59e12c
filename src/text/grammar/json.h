/* text/grammar/json.h - the expressions of JSON texts. Between its signs stands nothing, a space, or a line
 * end with up to 20 blanks, and no other white space; so a model can't go on with it for ever. It stands
 * behind { [ , : and before } ]. */
#ifndef TSRI_TEXT_GRAMMAR_JSON_H
#define TSRI_TEXT_GRAMMAR_JSON_H

#include "text/grammar/tree.h"

/* The rules that are made once they are used; 0: not made yet, which is the root's number. */
typedef struct tsri_text_json {
    tsri_text_tree *tree;
    int32_t space, string, character, number, integer, value, object, array;
} tsri_text_json;

int32_t tsri_text_word(tsri_text_tree *tree, const char *word);

/* Each is a call of the rule, or an expression. */
int32_t tsri_text_json_space(tsri_text_json *j);
int32_t tsri_text_json_comma(tsri_text_json *j); /* with the space behind it */
int32_t tsri_text_json_string(tsri_text_json *j);
int32_t tsri_text_json_characters(tsri_text_json *j, int32_t least, int32_t most); /* of a string */
int32_t tsri_text_json_quoted(tsri_text_json *j, int32_t content);
int32_t tsri_text_json_number(tsri_text_json *j);
int32_t tsri_text_json_value(tsri_text_json *j);
int32_t tsri_text_json_object(tsri_text_json *j);
int32_t tsri_text_json_array(tsri_text_json *j);
/* { or [, the content, which is not empty, and the end; may_be_empty: also without a content. */
int32_t tsri_text_json_enclosed(tsri_text_json *j, char open, int32_t content, char close,
                                bool may_be_empty);
/* name ":" value, where name is a string in quotes. */
int32_t tsri_text_json_pair(tsri_text_json *j, int32_t name, int32_t value);
/* item ("," item)*, at least `least` >= 1 items, at most `most`; -1: any number. */
int32_t tsri_text_json_list(tsri_text_json *j, int32_t item, int32_t least, int32_t most);

/* Characters of a string, as JSON writes them: what needs an escape has its shortest one. */
int32_t tsri_text_json_class(tsri_text_json *j, const tsri_text_characters *ranges, size_t n,
                             bool except);
/* The content of strings that match a regular expression of ECMAScript, of which a part is served.
 * error  in tree->status: TSR_E_ARGUMENT, TSR_E_UNSUPPORTED */
int32_t tsri_text_json_pattern(tsri_text_json *j, const char *pattern, size_t n);

/* A bound of numbers. */
typedef struct tsri_text_bound {
    bool given, exclusive;
    int64_t value;
} tsri_text_bound;

/* Whole numbers, and numbers with a fraction, between two bounds; without any, tsri_text_json_number. Numbers
 * without a bound have up to 16 digits. Nothing: no number is between them. */
int32_t tsri_text_json_whole(tsri_text_tree *tree, tsri_text_bound low, tsri_text_bound high);
int32_t tsri_text_json_between(tsri_text_tree *tree, tsri_text_bound low, tsri_text_bound high);

#endif
