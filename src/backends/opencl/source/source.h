/* backends/opencl/source/source.h - the texts of cl/: embedded, or read from a folder. */
#ifndef TSRI_OPENCL_SOURCE_SOURCE_H
#define TSRI_OPENCL_SOURCE_SOURCE_H

#include "base/bytes.h"

/* Every file of common/, in path order. folder NULL: the embedded files. */
tsr_status tsri_opencl_source_common(const char *folder, tsri_bytes *out);
/* One file. Its includes of common/ are dropped, others are pasted. TSR_E_IO where there is no such
 * file. */
tsr_status tsri_opencl_source_file(const char *folder, const char *path, tsri_bytes *out);
/* Visits the tables, tuned/<name>.tsv, in path order. A folder may have none. */
tsr_status tsri_opencl_source_tables(const char *folder,
                                     tsr_status (*visit)(void *data, const char *path,
                                                         const char *text),
                                     void *data);

#endif
