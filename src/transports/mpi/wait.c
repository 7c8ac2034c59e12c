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

void tsri_mpi_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec tsri_mpi_in(uint64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    return until;
}
