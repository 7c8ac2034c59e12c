/* backends/opencl/program/bundle_files.h - what reading and writing a bundle share. */
#ifndef TSRI_OPENCL_PROGRAM_BUNDLE_FILES_H
#define TSRI_OPENCL_PROGRAM_BUNDLE_FILES_H

#include "backends/opencl/program/bundle.h"
#include "base/bytes.h"

#include "base/json.h"

#define TSRI_OPENCL_BUNDLE_FORMAT "tessera-bundle"
#define TSRI_OPENCL_BUNDLE_MANIFEST "manifest.json"
#define TSRI_OPENCL_BUNDLE_SOURCE "program.cl"
#define TSRI_OPENCL_BUNDLE_BINARY "program.bin"

enum { TSRI_OPENCL_BUNDLE_LIMIT = 1 << 30 }; /* the most bytes of a binary */

/* Reads the manifest and checks all but its binary. Free *out and release *manifest also after a
 * failure. */
tsr_status tsri_opencl_bundle_read(const tsr_dev *dev, const char *folder, json_t **manifest,
                                   tsri_opencl_bundle **out);
/* Creates the driver's program from a binary and checks that it has each kernel; `file` names the
 * binary in messages. */
tsr_status tsri_opencl_bundle_program(tsr_dev *dev, tsri_opencl_bundle *bundle, const char *file,
                                      const tsri_bytes *binary);

/* SHA-256 of all kernel files, in hexadecimal. */
tsr_status tsri_opencl_bundle_sources(char hex[65]);

#endif
