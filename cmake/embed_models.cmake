# SPDX-License-Identifier: Apache-2.0
# cmake -DMODELS="a.kbm|b.kbm" -DOTHERS="c.kbm" -DOUTPUT=builtin_tables.c -P embed_models.cmake
#
# Writes the MODELS as C arrays and a list that ends with a NULL name, sorted by name; OTHERS are in it without data.
# src/model/builtin.c reads it.
cmake_minimum_required(VERSION 3.16)
string(REPLACE "|" ";" models "${MODELS}")
string(REPLACE "|" ";" others "${OTHERS}")
set(all ${models} ${others})
list(SORT all)
set(arrays "")
set(entries "")
foreach(path IN LISTS all)
    get_filename_component(name "${path}" NAME_WE)
    if(NOT path IN_LIST models)
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

file(WRITE "${OUTPUT}.new" "/* Made out of the files in models/ by cmake/embed_models.cmake. */
#include \"model/model.h\"

extern const kbi_builtin_table kbi_builtin_tables[];

${arrays}const kbi_builtin_table kbi_builtin_tables[] = {
${entries}    {NULL, NULL, 0},
};
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
