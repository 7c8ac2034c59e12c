/* transport/compare.h - makes the lists of lines "what<TAB>value" that tsr_ranks_compare takes. */
#ifndef TSRI_TRANSPORT_COMPARE_H
#define TSRI_TRANSPORT_COMPARE_H

#include "base/bytes.h"
#include "tessera/ranks.h"

/* Appends "what", a tab, the value (NULL: "none") and a line end; line ends, tabs and backslashes
 * within the value become \n, \t and \\. */
tsr_status tsri_ranks_list_add(tsri_bytes *list, const char *what, const char *value);
/* The name of a file and the SHA-256 of what is in it; only the name where there
 * is not a file at `path`. */
tsr_status tsri_ranks_list_file(tsri_bytes *list, const char *what, const char *name,
                                const char *path);

#endif
