/* cli/serve/absent/absent.c - tessera serve in a build without libmicrohttpd. */
#include "cli/serve/serve.h"

int tsri_serve_run(const tsri_serve_options *options) {
    (void)options;
    return tsri_cli_fail(
        CLI_OTHER, "this tessera was built without libmicrohttpd, which serve needs: install it "
                   "(Debian: apt-get install libmicrohttpd-dev), and build again");
}
