/* A library that mpirun's ranks load first (LD_PRELOAD): rank 1 stops itself in the call of MPI that LATE_IN names. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REPLACES __attribute__((visibility("default")))

/* Before MPI_Init_thread, only the launcher's variable says which rank this is. */
static void stop_in(const char *call) {
    const char *in = getenv("LATE_IN"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (in && rank && !strcmp(in, call) && !strcmp(rank, "1"))
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

REPLACES int MPI_Finalize(void) {
    stop_in("MPI_Finalize");
    return PMPI_Finalize();
}
