/* transport/load.h - transports as a kind of plugin. */
#ifndef TSRI_TRANSPORT_LOAD_H
#define TSRI_TRANSPORT_LOAD_H

#include "tessera/transport.h"

/* Finds the transport of that name in the folders of TESSERA_TRANSPORT_PATH and the install folder,
 * and opens its file. It stays mapped: a library that joined a launcher's ranks can't be
 * unloaded. */
tsr_status tsri_transport_load(const char *name, const tsr_transport **out);

/* Only checks a table. */
tsr_status tsri_transport_check_table(const char *path, const tsr_transport *table);

#endif
