/* task/show/dump.h - one side of a dump, between its files: the rows that a stack reads, and
 * what it gives. */
#ifndef TSRI_TASK_SHOW_DUMP_H
#define TSRI_TASK_SHOW_DUMP_H

#include "io/save.h"
#include "model/model.h"

/* The rows of an encoder or a decoder, as given and without their padding. */
typedef struct tsri_task_dump_side {
    const tsri_model_stack *stack;
    const char *input, *prefix; /* "decoder_input_ids", "dec." */
    int32_t vocab;
    int64_t context;                               /* tokens that it reads */
    const int64_t *ids, *mask, *positions, *types; /* [B,T]; NULL but for ids where not given */
    int64_t B, T, N;                               /* N: tokens that are not padding */
    int32_t *flat, *flat_positions, *flat_types;   /* [N] */
    int64_t *place;                                /* [N] t of each token in its row */
    tsri_model_sequence *sequences;                /* [B] */
    float **hidden, **attention;                   /* as a session gives them */
} tsri_task_dump_side;

/* Checks the rows and lays them out without padding, sequence b in slot b. */
tsr_status tsri_task_dump_compact(tsri_task_dump_side *side);
/* Room for every layer's hidden states, and its probabilities where they are wanted. */
tsr_status tsri_task_dump_room(tsri_task_dump_side *side, int32_t width, bool attention);
void tsri_task_dump_side_clear(tsri_task_dump_side *side);

/* Arrays to write, padded as the rows were given. */
typedef struct tsri_task_dump_file {
    tsri_io_entry *entries;
    char (*names)[32];
    float **arrays;
    size_t n, entries_room, names_room, arrays_room;
} tsri_task_dump_file;

/* [N,width] without padding as [B,T,width], zeros in padded places. */
tsr_status tsri_task_dump_rows(tsri_task_dump_file *file, const tsri_task_dump_side *side,
                               const char *name, int64_t width, const float *rows);
/* [H, queries, keys] of each sequence as [B,H,T,S], zeros in padded places. */
tsr_status tsri_task_dump_shares(tsri_task_dump_file *file, const tsri_task_dump_side *queries,
                                 const tsri_task_dump_side *keys, const char *name, int64_t H,
                                 const float *shares);
/* [B,width] as it is. */
tsr_status tsri_task_dump_matrix(tsri_task_dump_file *file, const char *name, int64_t B,
                                 int64_t width, const float *rows);
tsr_status tsri_task_dump_write(tsri_task_dump_file *file, const char *path);
void tsri_task_dump_file_clear(tsri_task_dump_file *file);

#endif
