/* task/bench/peer_process.c - the process of another engine: lines of JSON to it and back. */
#include "task/bench/peer.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16, LONGEST = 1 << 26, DEPTH = 4 };

/* ---- lines ---- */

static tsr_status broken(tsri_task_peer *peer, const char *what) {
    peer->broken = true;
    return tsri_base_fail(TSR_E_DEVICE, "the peer %s %s", peer->engine, what);
}

static tsr_status say(tsri_task_peer *peer, const char *text, size_t n) {
    return tsri_system_child_write(&peer->child, text, n) ? TSR_OK : broken(peer, "has ended");
}

/* Reads up to the end of a line. There is one answer to each request, so nothing follows it. */
static tsr_status hear(tsri_task_peer *peer, json_t **out) {
    tsri_bytes *heard = &peer->heard;
    tsri_base_bytes_clear(heard);
    heard->limit = LONGEST;
    char *piece = NULL;
    TRY(tsri_base_new(PIECE, 1, &piece));
    tsr_status status = TSR_OK;
    while (status == TSR_OK && (!heard->size || heard->data[heard->size - 1] != '\n')) {
        const ptrdiff_t n = tsri_system_child_read(&peer->child, piece, PIECE);
        status =
            n > 0 ? tsri_base_bytes_append(heard, piece, (size_t)n) : broken(peer, "has ended");
    }
    free(piece);
    return status == TSR_OK
               ? tsri_base_json_parse(heard->data, heard->size, DEPTH, peer->engine, out)
               : status;
}

/* A failure where the peer says so. */
static tsr_status judge(tsri_task_peer *peer, const json_t *answer) {
    const char *error = NULL;
    bool unsupported = false;
    if (!json_is_object(answer))
        return broken(peer, "answered by something else than an object");
    TRY(tsri_base_json_text(answer, peer->engine, "error", &error));
    TRY(tsri_base_json_bool(answer, peer->engine, "unsupported", &unsupported));
    return error ? tsri_base_fail(unsupported ? TSR_E_UNSUPPORTED : TSR_E_DEVICE, "%s: %s",
                                  peer->engine, error)
                 : TSR_OK;
}

static tsr_status hear_answer(tsri_task_peer *peer, json_t **answer) {
    TRY(hear(peer, answer));
    const tsr_status status = judge(peer, *answer);
    if (status != TSR_OK) {
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

tsr_status tsri_task_peer_ask(tsri_task_peer *peer, json_t *request, json_t **answer) {
    char *text = tsri_base_json_print(request, JSON_COMPACT);
    json_decref(request);
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory");
    tsr_status status = say(peer, text, strlen(text));
    free(text);
    if (status == TSR_OK)
        status = say(peer, "\n", 1);
    return status == TSR_OK ? hear_answer(peer, answer) : status;
}

/* ---- the process ---- */

/* What it says elsewhere is dropped: its failures are answers. */
static tsr_status spawn(tsri_task_peer *peer) {
    const char **argv = NULL;
    TRY(tsri_base_new(peer->n_command + 1, sizeof *argv, &argv));
    for (size_t i = 0; i < peer->n_command; i++)
        argv[i] = peer->command[i];
    const tsri_system_command command = {.program = argv[0],
                                         .argv = argv,
                                         .in = TSRI_SYSTEM_PIPED,
                                         .out = TSRI_SYSTEM_PIPED,
                                         .err = TSRI_SYSTEM_NOWHERE};
    const int failed = tsri_system_child_start(&command, &peer->child);
    free(argv);
    return failed ? tsri_base_fail(TSR_E_IO, "%s does not start: %s", peer->command[0],
                                   strerror(failed))
                  : TSR_OK;
}

static tsr_status greet(tsri_task_peer *peer) {
    const char *name = NULL;
    json_t *answer = NULL;
    TRY(hear_answer(peer, &answer));
    tsr_status status = tsri_base_json_text(answer, peer->engine, "engine", &name);
    if (status == TSR_OK && !name)
        status = broken(peer, "does not say what it is");
    if (status == TSR_OK)
        snprintf(peer->engine, sizeof peer->engine, "%s", name);
    json_decref(answer);
    return status;
}

static void stop(tsri_task_peer *peer) {
    tsri_system_child_close(&peer->child);
    tsri_system_child_end(&peer->child, 0); /* it may be in the middle of a run */
}

tsr_status tsri_task_peer_revive(tsri_task_peer *peer) {
    if (!peer->broken)
        return TSR_OK;
    stop(peer);
    TRY(spawn(peer));
    peer->broken = false;
    return greet(peer);
}

tsr_status tsri_task_peer_start(const char *const *command, size_t n, tsri_task_peer **out) {
    tsri_task_peer *peer = NULL;
    TRY(tsri_base_new(1, sizeof *peer, &peer));
    *peer = (tsri_task_peer){.command = command, .n_command = n};
    snprintf(peer->engine, sizeof peer->engine, "%s", command[n - 1]);
    tsr_status status = tsri_base_folder_temporary("tessera-peer", &peer->folder);
    if (status == TSR_OK)
        status = tsri_base_new(TSRI_TASK_BENCH_MOST_REQUESTS, sizeof *peer->first, &peer->first);
    if (status == TSR_OK)
        status = tsri_base_new(TSRI_TASK_BENCH_MOST_REQUESTS, sizeof *peer->each, &peer->each);
    if (status == TSR_OK)
        status = spawn(peer);
    if (status == TSR_OK)
        status = greet(peer);
    if (status != TSR_OK)
        tsri_task_peer_end(&peer);
    *out = peer;
    return status;
}

void tsri_task_peer_end(tsri_task_peer **peer) {
    tsri_task_peer *p = *peer;
    if (!p)
        return;
    stop(p);
    if (p->folder)
        tsri_base_folder_remove(p->folder, NULL);
    free(p->folder);
    free(p->first);
    free(p->each);
    tsri_base_bytes_clear(&p->heard);
    free(p);
    *peer = NULL;
}
