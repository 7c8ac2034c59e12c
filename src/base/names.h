/* base/names.h - how near one name is to another, for those who typed it wrong. */
#ifndef TSRI_BASE_NAMES_H
#define TSRI_BASE_NAMES_H

#include <stddef.h>

/* Letters to insert, delete or replace, and neighbours to swap, to make one of the other; of the
 * first 64. '_' counts as '-', and letters of either case are the same. */
int tsri_base_name_distance(const char *a, const char *b);
/* The place of the nearest; n where none is near: more than a third of its letters would change. A
 * name that begins with what was typed (three letters or more) is one step away. The first of
 * equals. */
size_t tsri_base_name_nearest(const char *typed, const char *const *names, size_t n);

#endif
