# cmake -DMODELS="a.kbm|b.kbm" -DOUTPUT=builtin_tables.c -P embed_models.cmake
#
# Writes the model files as C arrays and a list of them that ends with a NULL name; src/model/builtin.c reads it.
string(REPLACE "|" ";" models "${MODELS}")
set(arrays "")
set(entries "")
foreach(path IN LISTS models)
    get_filename_component(name "${path}" NAME_WE)
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
