/* io/ctranslate2_names.h - the names that variables had in revision 1 of CTranslate2's
 * encoder-decoders: those of OpenNMT-tf. */
#ifndef TSRI_IO_CTRANSLATE2_NAMES_H
#define TSRI_IO_CTRANSLATE2_NAMES_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* Files of binary version 1 name no specification; they are of this one, in revision 1. It has 8
 * heads. */
#define TSRI_IO_CTRANSLATE2_FIRST_SPEC "TransformerBase"

/* Whether a specification has these names. */
bool tsri_io_ctranslate2_has_old_names(const char *spec, uint32_t revision);
/* Writes such a name as later revisions do; other names stay. */
tsr_status tsri_io_ctranslate2_rename(tsri_bytes *name);

#endif
