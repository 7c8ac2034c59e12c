/* task/show/attention.h - what the run of a model and the page that shows its attention share. */
#ifndef TSRI_TASK_SHOW_ATTENTION_H
#define TSRI_TASK_SHOW_ATTENTION_H

#include "model/model.h"
#include "tessera/attention.h"

enum { TSRI_TASK_MAPS = 3 };

/* The tokens of one side: "text", "source" or "target". */
typedef struct tsri_task_tokens {
    const char *name;
    tsr_attention_token *tokens; /* their texts are new memory */
    int64_t n;
} tsri_task_tokens;

struct tsr_attention {
    char *model; /* the last part of its path */
    char *about; /* the texts, for a title */
    tsri_task_tokens sides[2];
    tsr_attention_map maps[TSRI_TASK_MAPS];
    float *weights[TSRI_TASK_MAPS];
    size_t n_maps;
};

/* Makes the model's input from a text and the options: the ids that its encoder (or its only stack)
 * reads, and those that its decoder reads, which are generated where no target is given. */
tsr_status tsri_task_attention_read(const tsr_model *opened, const char *text, size_t size,
                                    const tsr_attention_options *options, tsri_text_ids *source,
                                    tsri_text_ids *target);
/* Names the tokens of a side; `side` is empty at first. */
tsr_status tsri_task_tokens_name(const tsri_text_tokenizer *tokenizer, const tsri_text_ids *ids,
                                 tsri_task_tokens *side);

#endif
