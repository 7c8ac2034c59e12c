/* base/names.h - how near one name is to another, to suggest what was meant. */
#ifndef TSRI_BASE_NAMES_H
#define TSRI_BASE_NAMES_H

#include <stddef.h>

/* How many letters to insert, delete or replace, and neighbours to swap, turn one name into the
 * other; only the first 64 letters count. '_' counts as '-', and letters of either case are the
 * same. */
int tsri_base_name_distance(const char *a, const char *b);
/* The index of the nearest name, the first of equally near ones; n where none is near, that is,
 * where more than a third of its letters would change. A name that begins with what was typed
 * (three letters or more) counts as one step away. */
size_t tsri_base_name_nearest(const char *typed, const char *const *names, size_t n);

#endif
