/* model/load/family.h - which family a folder's model is of. */
#ifndef TSRI_MODEL_LOAD_FAMILY_H
#define TSRI_MODEL_LOAD_FAMILY_H

#include "io/archive.h"
#include "model/arch/arch.h"

/* The family that "model_type" names. Configs from before that key have none: then the classes in "architectures"
 * tell it and, where there are none either, the arrays, if they and the config are those of one family only. What is
 * found so is put into the config as its "model_type".
 *
 * how     what told it where model_type doesn't: "its architectures", "the names of its tensors"; else NULL. Of static
 *         storage
 * error   TSR_E_FORMAT       nothing tells it, or the tensors fit several families: the sentence lists them
 *         TSR_E_UNSUPPORTED  it is not one that is served */
tsr_status tsri_model_family_find(json_t *config, const char *what, const tsri_io_archive *archive,
                                  const tsri_model_arch **out, const char **how);

#endif
