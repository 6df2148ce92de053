# SPDX-License-Identifier: Apache-2.0
# cmake -DFILES="a.kbm|b.kbm" -DOTHERS="c.kbm" -DOUTPUT=tables.c -DHEADER=... -DTYPE=... -DLIST=... -P embed.cmake
#
# Writes FILES as C arrays, and LIST, which has {name, data, size} for each, sorted by name, and ends with a NULL name;
# OTHERS are in it without data. HEADER declares TYPE. Without the last three: the models that src/model/builtin.c reads.
cmake_minimum_required(VERSION 3.16)
if(NOT LIST)
    set(HEADER model/model.h)
    set(TYPE kbi_builtin_table)
    set(LIST kbi_builtin_tables)
endif()
string(REPLACE "|" ";" files "${FILES}")
string(REPLACE "|" ";" others "${OTHERS}")
set(all ${files} ${others})
list(SORT all)
set(arrays "")
set(entries "")
foreach(path IN LISTS all)
    get_filename_component(name "${path}" NAME_WE)
    if(NOT path IN_LIST files)
        string(APPEND entries "    {\"${name}\", NULL, 0},\n")
        continue()
    endif()
    string(MAKE_C_IDENTIFIER "${name}" id)
    file(READ "${path}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const unsigned char table_${id}[] = {\n${bytes}\n};\n\n")
    string(APPEND entries "    {\"${name}\", table_${id}, sizeof table_${id}},\n")
endforeach()

file(WRITE "${OUTPUT}.new" "/* Made out of the files in models/ by cmake/embed.cmake. */
#include \"${HEADER}\"

extern const ${TYPE} ${LIST}[];

${arrays}const ${TYPE} ${LIST}[] = {
${entries}    {NULL, NULL, 0},
};
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
