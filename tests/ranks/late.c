/* A library that mpirun's ranks load first (LD_PRELOAD): rank 1 stops itself in the call of MPI that LATE_IN names; where
 * FAILS_IN is MPI_Ibarrier, that call fails in rank 0. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REPLACES __attribute__((visibility("default")))

/* Before MPI_Init_thread, only the launcher's variable says which rank this is. */
static int is_set(const char *variable, const char *call, const char *of_rank) {
    const char *in = getenv(variable), *rank = getenv("OMPI_COMM_WORLD_RANK");
    return in && rank && !strcmp(in, call) && !strcmp(rank, of_rank);
}

static void stop_in(const char *call) {
    if (is_set("LATE_IN", call, "1"))
        raise(SIGSTOP);
}

REPLACES int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given) {
    stop_in("MPI_Init_thread");
    return PMPI_Init_thread(argc, argv, wanted, given);
}

REPLACES int MPI_Comm_idup(MPI_Comm ranks, MPI_Comm *made, MPI_Request *request) {
    stop_in("MPI_Comm_idup");
    return PMPI_Comm_idup(ranks, made, request);
}

REPLACES int MPI_Ibarrier(MPI_Comm ranks, MPI_Request *request) {
    return is_set("FAILS_IN", "MPI_Ibarrier", "0") ? MPI_ERR_OTHER : PMPI_Ibarrier(ranks, request);
}

REPLACES int MPI_Finalize(void) {
    stop_in("MPI_Finalize");
    return PMPI_Finalize();
}
