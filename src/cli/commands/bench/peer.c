/* cli/commands/bench/peer.c - finds what runs another engine: the Python that tools/peers made, and
 * the program beside this command. */
#include "cli/commands/bench/peer.h"
#include "base/system/paths.h"
#include "base/system/system.h"
#include "cli/base/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const engines[] = {"llama.cpp", "onnxruntime", "openvino", "pytorch"};
enum { ENGINES = sizeof engines / sizeof *engines };

/* As tools/peers says it: TESSERA_PEERS, else a folder in the user's cache. */
static int find_python(char out[TSRI_CLI_BENCH_PEER_PATH]) {
    const char *own = getenv("TESSERA_PEERS"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    const bool in_cache = cache && *cache;
    if (own && *own)
        snprintf(out, TSRI_CLI_BENCH_PEER_PATH, "%s/bin/python", own);
    else
        snprintf(out, TSRI_CLI_BENCH_PEER_PATH, "%s%s/tessera-peers/bin/python",
                 in_cache ? cache
                 : home   ? home
                          : "",
                 in_cache ? "" : "/.cache");
    return access(out, X_OK) == 0
               ? CLI_OK
               : tsri_cli_fail(CLI_FILE,
                               "--peer: there is no %s: tools/peers installs the engines there; "
                               "TESSERA_PEERS names another folder",
                               out);
}

static int find_program(char out[TSRI_CLI_BENCH_PEER_PATH]) {
    static const char below[] = "/../share/tessera/peers/suite_peer.py";
    if (!tsri_system_program(out, TSRI_CLI_BENCH_PEER_PATH - sizeof below))
        *out = 0;
    char *slash = strrchr(out, '/');
    memcpy(slash ? slash : out, below, sizeof below);
    return access(out, R_OK) == 0
               ? CLI_OK
               : tsri_cli_fail(CLI_FILE,
                               "--peer: %s, which runs other engines, is missing: install Tessera "
                               "again",
                               out);
}

int tsri_cli_bench_find_peer(const char *engine, uint32_t threads, tsri_cli_bench_peer *out) {
    int i = 0;
    while (i < ENGINES && strcmp(engine, engines[i]) != 0)
        i++;
    if (i == ENGINES)
        return tsri_cli_fail(
            CLI_USAGE, "--peer %s: the engines are llama.cpp, onnxruntime, openvino and pytorch",
            engine);
    int code = find_python(out->python);
    if (code == CLI_OK)
        code = find_program(out->program);
    snprintf(out->threads, sizeof out->threads, "%u", threads);
    out->command[0] = out->python;
    out->command[1] = "-B";
    out->command[2] = out->program;
    out->command[3] = out->threads;
    out->command[4] = engines[i];
    return code;
}
