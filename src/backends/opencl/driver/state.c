/* backends/opencl/driver/state.c - collects the notes of an open backend, and closes it. */
#include "backends/opencl/driver/state.h"
#include "backends/opencl/driver/builders.h"
#include "backends/opencl/driver/cache.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tsr_status tsri_opencl_note(tsr_state *state, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    TRY(tsri_base_grow(&state->notes, &state->notes_capacity, state->n_notes + 1,
                       sizeof *state->notes));
    char *copy = tsri_base_copy_text(text, strlen(text));
    if (!copy)
        return TSR_E_HOST_MEMORY;
    state->notes[state->n_notes++] = copy;
    return TSR_OK;
}

void tsri_opencl_state_free(tsr_state *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->n_found; i++)
        tsri_opencl_free_found(&state->found[i]);
    for (size_t i = 0; i < state->n_notes; i++)
        free(state->notes[i]);
    tsri_opencl_builders *builders = state->builders;
    tsri_opencl_builders_free(&builders);
    if (state->vendors && !tsri_opencl_forked())
        tsri_opencl_remove_folder(state->vendors);
    free(state->vendors);
    free(state->found);
    free(state->notes);
    free(state);
}
