# With libraries in another folder than lib, the built command still finds its library in the build folder, where that is always in lib (the
# build runs the command for its manual pages), and the installed one where it is installed. Only configured here: a build takes minutes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# configured LIBDIR: cmake_install.cmake says what the build links the command with, and what installing makes of that.
configured() {
    cmake -S "$TESSERA_SOURCE" -B "$work/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR="$1" \
        -DTESSERA_OPENCL=OFF -DTESSERA_MPI=OFF -DTESSERA_TESTS=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    grep -A 3 RPATH_CHANGE "$work/build/cmake_install.cmake" >"$work/rpath" || true
}

# rpath INSTALLED PREFIX_OF_PC LIBDIR_OF_PC
rpath() {
    grep -q 'OLD_RPATH "\\$ORIGIN/\.\./lib:*"' "$work/rpath" || { echo "the command is built with:"; cat "$work/rpath"; exit 1; }
    grep -qF "NEW_RPATH \"$1\"" "$work/rpath" || { echo "the command is installed with:"; cat "$work/rpath"; exit 1; }
    grep -qxF "prefix=$2" "$work/build/tessera.pc" || { cat "$work/build/tessera.pc"; exit 1; }
    grep -qxF "libdir=$3" "$work/build/tessera.pc" || { cat "$work/build/tessera.pc"; exit 1; }
}

# shellcheck disable=SC2016  # CMake and pkg-config put values there, not the shell
{
    configured lib64
    rpath '\$ORIGIN/../lib64' '${pcfiledir}/../..' '${prefix}/lib64'
    configured "$work/elsewhere/lib"
    rpath "$work/elsewhere/lib" "$work/prefix" "$work/elsewhere/lib"
}

# In lib the command is installed as it was built.
configured lib
test ! -s "$work/rpath" || { cat "$work/rpath"; exit 1; }
