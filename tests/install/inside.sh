# Another project takes Tessera's tree in by add_subdirectory: it may have a target `uninstall` of its own, and gets no tests of Tessera. Only
# configured here: a build takes minutes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C)
add_custom_target(uninstall)
add_subdirectory(${TESSERA} tessera)
add_executable(program main.c)
target_link_libraries(program PRIVATE Tessera::tessera)
END
cp "$TESSERA_SOURCE/tests/install/outside/main.c" "$work/"
cmake -S "$work" -B "$work/build" -DCMAKE_C_COMPILER="$CC" -DTESSERA="$TESSERA_SOURCE" -DTESSERA_OPENCL=OFF -DTESSERA_MPI=OFF >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
test ! -e "$work/build/tessera/tests"
