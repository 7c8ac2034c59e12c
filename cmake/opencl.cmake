# The OpenCL backend: a plugin with every kernel file of cl/ inside it.
find_package(OpenCL)
file(GLOB_RECURSE opencl_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/opencl/*.c)
list(FILTER opencl_sources EXCLUDE REGEX "/opencl/driver/helper/")
if(NOT OpenCL_FOUND)
  message(STATUS "OpenCL was not found: the opencl backend is not built (Debian: apt-get install ocl-icd-opencl-dev)")
elseif(opencl_sources)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cl/*.cl ${PROJECT_SOURCE_DIR}/cl/*.clh
       ${PROJECT_SOURCE_DIR}/cl/*.tsv)
  set(embedded ${PROJECT_BINARY_DIR}/generated/opencl_sources.c)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR}/cl -DOUT=${embedded} "-DFILES=${kernels}"
            -DHEADER=backends/opencl/source/sources.h -DTYPE=tsri_opencl_source -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${kernels} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding the kernels of cl/" VERBATIM)

  add_library(tessera_opencl MODULE ${opencl_sources} ${embedded})
  set_target_properties(tessera_opencl PROPERTIES PREFIX "" OUTPUT_NAME opencl SUFFIX .so
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${plugin_folder})
  target_compile_definitions(tessera_opencl PRIVATE CL_TARGET_OPENCL_VERSION=300)
  target_include_directories(tessera_opencl PRIVATE src include)
  target_link_libraries(tessera_opencl PRIVATE tessera_options tessera_base OpenCL::OpenCL Threads::Threads ${CMAKE_DL_LIBS} m)
  # The archive's symbols stay hidden: the plugin exports one symbol to the host. On macOS the linker has no such option, and
  # the names of a plugin don't replace those of the program that loads it.
  if(NOT APPLE)
    target_link_options(tessera_opencl PRIVATE -Wl,--exclude-libs,ALL)
  endif()

  # The helper tries instructions that may crash a compiler or the process, so it is a process of
  # its own.
  add_executable(tessera_probe ${PROJECT_SOURCE_DIR}/src/backends/opencl/driver/helper/probe.c)
  target_include_directories(tessera_probe PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(tessera_probe PROPERTIES OUTPUT_NAME probe
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/tessera)
  target_compile_definitions(tessera_probe PRIVATE CL_TARGET_OPENCL_VERSION=120 CL_USE_DEPRECATED_OPENCL_1_2_APIS)
  target_link_libraries(tessera_probe PRIVATE tessera_options OpenCL::OpenCL)
  add_dependencies(tessera_opencl tessera_probe)
  install(TARGETS tessera_probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tessera)

  install(TARGETS tessera_opencl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${plugin_folder})
endif()
