/* train/data/entities.h - entities in labels of words: IOB2, as seqeval's strict mode reads it. */
#ifndef TSRI_TRAIN_DATA_ENTITIES_H
#define TSRI_TRAIN_DATA_ENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_train_entities {
    uint64_t right, given, wanted;
} tsri_train_entities;

/* Whether some label begins an entity: "B-PER". */
bool tsri_train_entities_are_named(char *const *names, int32_t n);

/**
 * Adds the entities of one text to the counts. An entity is a word labelled "B-X" with the words labelled "I-X" right
 * behind it; it is right if one of the same kind has the same first and the same last word.
 *
 * shape   given, wanted: [n] numbers of labels, in the order of the words
 * source  seqeval 1.2, mode strict, scheme IOB2
 */
void tsri_train_entities_count(char *const *names, const int32_t *given, const int32_t *wanted,
                               size_t n, tsri_train_entities *counts);

/* 2 precision recall / (precision + recall) over all entities; 0 where none is right. */
double tsri_train_entities_f1(const tsri_train_entities *counts);

#endif
