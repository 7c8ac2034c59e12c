/* backends/opencl/source/sources.h - the files of cl/, embedded when the plugin is built
 * (cmake/embed.cmake). */
#ifndef TSRI_OPENCL_SOURCE_SOURCES_H
#define TSRI_OPENCL_SOURCE_SOURCES_H

#include <stddef.h>

typedef struct tsri_opencl_source {
    const char *path; /* below cl/: "softmax/naive.cl", "common/types.clh" */
    const char *text; /* 0-terminated */
    size_t size;      /* without the 0 */
} tsri_opencl_source;

extern const tsri_opencl_source
    tsri_opencl_sources[]; /* sorted by path; the last one has a NULL path */
extern const size_t tsri_opencl_source_count;

#endif
