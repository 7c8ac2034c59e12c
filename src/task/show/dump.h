/* task/show/dump.h - one side of a dump, which its files share: the rows that a stack reads, and
 * its results. */
#ifndef TSRI_TASK_SHOW_DUMP_H
#define TSRI_TASK_SHOW_DUMP_H

#include "io/save.h"
#include "model/model.h"

/* The rows of an encoder or a decoder, as they were given and without their padding. */
typedef struct tsri_task_dump_side {
    const tsri_model_stack *stack;
    const char *input, *prefix; /* "decoder_input_ids", "dec." */
    int32_t vocab;
    int64_t context;                               /* the most tokens that it reads */
    const int64_t *ids, *mask, *positions, *types; /* [B,T]; NULL: not given; ids are required */
    int64_t B, T, N;                               /* N: tokens that are not padding */
    int32_t *flat, *flat_positions, *flat_types;   /* [N] */
    int64_t *place;                                /* [N] position t of each token in its row */
    tsri_model_sequence *sequences;                /* [B] */
    float **hidden, **attention;                   /* in a session's form */
} tsri_task_dump_side;

/* Checks the rows and lays them out without padding, sequence b in slot b. */
tsr_status tsri_task_dump_compact(tsri_task_dump_side *side);
/* Makes room for every layer's hidden states, and its attention probabilities where `attention`. */
tsr_status tsri_task_dump_room(tsri_task_dump_side *side, int32_t width, bool attention);
void tsri_task_dump_side_clear(tsri_task_dump_side *side);

/* Arrays to write, padded as the given rows are. */
typedef struct tsri_task_dump_file {
    tsri_io_entry *entries;
    char (*names)[32];
    float **arrays;
    size_t n, entries_room, names_room, arrays_room;
} tsri_task_dump_file;

/* Adds [N,width] without padding as [B,T,width], with zeros in padded places. */
tsr_status tsri_task_dump_rows(tsri_task_dump_file *file, const tsri_task_dump_side *side,
                               const char *name, int64_t width, const float *rows);
/* Adds [H, queries, keys] of each sequence as [B,H,T,S], with zeros in padded places. */
tsr_status tsri_task_dump_shares(tsri_task_dump_file *file, const tsri_task_dump_side *queries,
                                 const tsri_task_dump_side *keys, const char *name, int64_t H,
                                 const float *shares);
/* Adds [B,width] as it is. */
tsr_status tsri_task_dump_matrix(tsri_task_dump_file *file, const char *name, int64_t B,
                                 int64_t width, const float *rows);
tsr_status tsri_task_dump_write(tsri_task_dump_file *file, const char *path);
void tsri_task_dump_file_clear(tsri_task_dump_file *file);

#endif
