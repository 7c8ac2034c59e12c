/* train/data/entities.c - entities in labels of words: IOB2, as seqeval's strict mode reads it. */
#include "train/data/entities.h"

#include <string.h>

static bool begins(const char *label) {
    return strncmp(label, "B-", 2) == 0;
}

bool tsri_train_entities_are_named(char *const *names, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (begins(names[i]))
            return true;
    return false;
}

/* The place behind the entity that begins at word i; i if none does. */
static size_t end_of(char *const *names, const int32_t *labels, size_t i, size_t n) {
    const char *kind = names[labels[i]];
    if (!begins(kind))
        return i;
    for (i++; i < n; i++) {
        const char *label = names[labels[i]];
        if (strncmp(label, "I-", 2) != 0 || strcmp(label + 2, kind + 2) != 0)
            break;
    }
    return i;
}

void tsri_train_entities_count(char *const *names, const int32_t *given, const int32_t *wanted,
                               size_t n, tsri_train_entities *counts) {
    for (size_t i = 0; i < n; i++) {
        const size_t end = end_of(names, given, i, n), right = end_of(names, wanted, i, n);
        counts->given += end > i;
        counts->wanted += right > i;
        counts->right += end > i && end == right && !strcmp(names[given[i]], names[wanted[i]]);
    }
}

double tsri_train_entities_f1(const tsri_train_entities *counts) {
    const double both = (double)counts->given + (double)counts->wanted;
    return both > 0 ? 2 * (double)counts->right / both : 0;
}
