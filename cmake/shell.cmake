# The manual pages and the completions of shells: the command prints them from its own tables of options, so they are made where it can be
# run. A script of this file's: cmake -DTESSERA=... -DTO=... -DPAGES=... -P shell.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  # print(FILE ARGUMENT...): what the command prints, as a file
  function(print file)
    execute_process(COMMAND ${TESSERA} ${ARGN} OUTPUT_FILE ${TO}/${file} RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "tessera ${ARGN} failed: ${failed}")
    endif()
  endfunction()
  foreach(folder man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
    file(MAKE_DIRECTORY ${TO}/${folder})
  endforeach()
  print(man/man1/tessera.1 help --man)
  foreach(page ${PAGES})
    string(REPLACE "/" ";" words ${page})
    string(REPLACE "/" "-" name ${page})
    print(man/man1/tessera-${name}.1 help --man ${words})
  endforeach()
  print(bash-completion/completions/tessera completion bash)
  print(zsh/site-functions/_tessera completion zsh)
  print(fish/vendor_completions.d/tessera.fish completion fish)
  return()
endif()

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  return()
endif()
# "generate", "bench/suite": the commands, and the verbs that have a help of their own
set(pages)
set(rows ${PROJECT_SOURCE_DIR}/src/cli/commands/commands.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
file(STRINGS ${rows} lines REGEX "^(COMMAND|SUBCOMMAND)\\(")
foreach(line ${lines})
  if(line MATCHES "^COMMAND\\(\"([^\"]+)\"")
    list(APPEND pages ${CMAKE_MATCH_1})
  elseif(line MATCHES "^SUBCOMMAND\\(\"([^\"]+)\", \"([^\"]+)\"")
    list(APPEND pages ${CMAKE_MATCH_1}/${CMAKE_MATCH_2})
  endif()
endforeach()
set(made ${PROJECT_BINARY_DIR}/generated/shell)
add_custom_command(OUTPUT ${made}/made
                   COMMAND ${CMAKE_COMMAND} "-DTESSERA=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:tessera_command>" -DTO=${made} "-DPAGES=${pages}"
                           -P ${PROJECT_SOURCE_DIR}/cmake/shell.cmake
                   COMMAND ${CMAKE_COMMAND} -E touch ${made}/made
                   DEPENDS tessera_command ${PROJECT_SOURCE_DIR}/cmake/shell.cmake
                   COMMENT "Printing manual pages and completions" VERBATIM)
add_custom_target(tessera_shell ALL DEPENDS ${made}/made)
install(DIRECTORY ${made}/man DESTINATION ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY ${made}/bash-completion ${made}/zsh ${made}/fish DESTINATION ${CMAKE_INSTALL_DATADIR})
