/* backends/opencl/program/bundle_write.h - exports and builds a bundle. */
#ifndef TSRI_OPENCL_PROGRAM_BUNDLE_WRITE_H
#define TSRI_OPENCL_PROGRAM_BUNDLE_WRITE_H

#include "tessera/backend.h"

extern const tsr_backend_bundle tsri_opencl_bundles; /* extension "tsr.bundle/1" */

#endif
