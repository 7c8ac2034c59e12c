/* transports/mpi/wait.c - waits that count only the time that this process had. */
#include "transports/mpi/link.h"

tsri_mpi_patience tsri_mpi_patience_begin(uint64_t deadline_ns) {
    const uint64_t now = tsri_mpi_now();
    return (tsri_mpi_patience){.deadline_ns = deadline_ns, .begun = now, .looked = now};
}

void tsri_mpi_patience_renew(tsri_mpi_patience *p) {
    p->begun = tsri_mpi_now();
}

bool tsri_mpi_patience_ends(tsri_mpi_patience *p) {
    const uint64_t now = tsri_mpi_now();
    if (now - p->looked > p->deadline_ns / 2)
        p->begun = now;
    p->looked = now;
    return now - p->begun > p->deadline_ns;
}
