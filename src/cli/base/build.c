/* cli/base/build.c - how this program was built: the build system defines it. */
#include "cli/base/build.h"

const tsri_cli_build tsri_cli_built = {tsri_cli_commit, BUILD_COMPILER, BUILD_FLAGS, BUILD_TYPE};
