/* task/texts/ranking_words.h - the words in which language models that rank texts are asked. */
#ifndef TSRI_TASK_TEXTS_RANKING_WORDS_H
#define TSRI_TASK_TEXTS_RANKING_WORDS_H

#include "task/texts/passages.h"

/* How one family of models is asked, in this order: before, head, text, after. */
typedef struct tsri_task_ranking_words {
    const char *family;
    const char *instruction; /* where the caller has none; NULL: the model reads none */
    const char *before;      /* with special tokens */
    const char *head[3]; /* around the instruction and the question; head[0] NULL: no instruction */
    const char *between; /* NULL: what follows is read together with the head, as one text */
    const char *text;    /* before the text */
    const char *after[2]; /* with special tokens; each is read by itself */
    const char *yes, *no; /* the tokens that answer; no NULL: the logit of yes counts alone */
    bool bos;             /* the bos token comes first */
} tsri_task_ranking_words;

/* The words of a family, or NULL. */
const tsri_task_ranking_words *tsri_task_ranking_words_of(const char *family);
/* "qwen3, gemma" for messages; a literal. */
const char *tsri_task_ranking_families(void);

/* Appends the ids of a question and a text, whose end is cut where they would be more than `most`;
 * *cut tells whether it was. */
tsr_status tsri_task_ranking_ids(const tsri_task_ranking_words *words,
                                 const tsri_text_tokenizer *tokenizer, const char *instruction,
                                 const tsr_string *question, const tsr_string *text, size_t most,
                                 tsri_text_ids *ids, bool *cut);

#endif
