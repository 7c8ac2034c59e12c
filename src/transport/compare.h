/* transport/compare.h - ranks find out whether they were asked for the same: each makes a list of
 * lines "what<TAB>value", and the first that differs is named with both values. */
#ifndef TSRI_TRANSPORT_COMPARE_H
#define TSRI_TRANSPORT_COMPARE_H

#include "base/bytes.h"
#include "tessera/ranks.h"

/* Appends "what", a tab, the value (NULL: "none") and a line end; line ends within the value become
 * spaces. */
tsr_status tsri_ranks_list_add(tsri_bytes *list, const char *what, const char *value);
/* The name of a file and the SHA-256 of what is in it; only the name where `path` is no file. */
tsr_status tsri_ranks_list_file(tsri_bytes *list, const char *what, const char *name,
                                const char *path);

/* tsr_ranks_compare, for a list that was made by these. */
tsr_status tsri_ranks_compare(tsr_ranks *ranks, const char *list);

#endif
