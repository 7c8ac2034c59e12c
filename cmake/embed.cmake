# cmake -DFOLDER=cl -DOUT=out.c -DFILES=a.cl;b.clh -DHEADER=backends/opencl/source/sources.h -DTYPE=tsri_opencl_source -P embed.cmake
# Writes the table TYPEs of path, text and size, and its length TYPE_count, which the header declares. The texts are written as bytes
# because C guarantees only 4095 characters in a string literal. In a text, "@NAME@" becomes the content of the file of this name among
# the list PARTS.
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS FILES)
  file(READ ${file} bytes HEX)
  foreach(part IN LISTS PARTS)
    get_filename_component(name ${part} NAME)
    string(HEX "@${name}@" marker)
    file(READ ${part} content HEX)
    string(REPLACE "${marker}" "${content}" bytes "${bytes}")
  endforeach()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  file(RELATIVE_PATH name ${FOLDER} ${file})
  string(APPEND arrays "static const unsigned char text_${count}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${count}, sizeof text_${count} - 1},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "#include \"${HEADER}\"\n\n${arrays}\n"
     "const ${TYPE} ${TYPE}s[] = {\n${rows}    {NULL, NULL, 0},\n};\n"
     "const size_t ${TYPE}_count = ${count};\n")
