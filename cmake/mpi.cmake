# The transport mpi: a plugin, so libtessera needs no MPI.
find_package(MPI COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(STATUS "MPI was not found: the transport mpi is not built (Debian: apt-get install libopenmpi-dev openmpi-bin)")
else()
  file(GLOB mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/transports/mpi/*.c)
  add_library(tessera_mpi MODULE ${mpi_sources})
  set_target_properties(tessera_mpi PROPERTIES PREFIX "" OUTPUT_NAME mpi SUFFIX .so
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${transport_folder})
  target_include_directories(tessera_mpi PRIVATE src include)
  # MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an array without room.
  target_compile_options(tessera_mpi PRIVATE $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  # The archive without the libraries that it needs: the plugin's threads need none of them.
  target_link_libraries(tessera_mpi PRIVATE tessera_options $<TARGET_FILE:tessera_system> MPI::MPI_C Threads::Threads)
  install(TARGETS tessera_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${transport_folder})
endif()
