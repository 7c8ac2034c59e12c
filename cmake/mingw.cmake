# A toolchain file: cross-compiles for 64-bit Windows with Debian's MinGW-w64, in its variant with POSIX threads. TESSERA_ROOT names the
# folder that jansson, utf8proc and PCRE2 were installed to (ci/mingw builds them).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TESSERA_ROOT)
set(CMAKE_FIND_ROOT_PATH ${TESSERA_ROOT} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${TESSERA_ROOT}/lib/pkgconfig)
# The compiler's own libraries become part of the programs: they need nothing beside what Windows has.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
set(CMAKE_C_FLAGS_INIT "-DPCRE2_STATIC -DUTF8PROC_STATIC")
