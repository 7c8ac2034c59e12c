/* backends/opencl/program/bundle_write.h - a bundle exported and built. */
#ifndef TSRI_OPENCL_PROGRAM_BUNDLE_WRITE_H
#define TSRI_OPENCL_PROGRAM_BUNDLE_WRITE_H

#include "tessera/backend.h"

extern const tsr_backend_bundle tsri_opencl_bundles; /* extension "tsr.bundle/1" */

#endif
