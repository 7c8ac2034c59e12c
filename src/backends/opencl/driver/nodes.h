/* backends/opencl/driver/nodes.h - the files under /dev by which a driver reaches its GPUs. */
#ifndef TSRI_OPENCL_DRIVER_NODES_H
#define TSRI_OPENCL_DRIVER_NODES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether no file that the pattern (of glob) fits can be opened for reading and writing, as drivers open
 * those of GPUs; `why` then gets the reason, with what to do. */
bool tsri_opencl_files_closed(const char *pattern, char *why, size_t size);

#endif
