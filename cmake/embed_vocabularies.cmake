# SPDX-License-Identifier: Apache-2.0
# cmake -DFILES="a.kbv|b.kbv" -DOUTPUT=vocabularies.c -P embed_vocabularies.cmake
#
# Writes vocabulary files as C arrays and a list of them that ends with a NULL name; collection/vocabularies.c reads it.
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(entries "")
foreach(path IN LISTS files)
    get_filename_component(name "${path}" NAME_WE)
    string(MAKE_C_IDENTIFIER "${name}" id)
    file(READ "${path}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const unsigned char vocabulary_${id}[] = {\n${bytes}\n};\n\n")
    string(APPEND entries "    {\"${name}\", vocabulary_${id}, sizeof vocabulary_${id}},\n")
endforeach()

file(WRITE "${OUTPUT}.new" "/* Made out of the files in models/ by cmake/embed_vocabularies.cmake. */
#include <stddef.h>

typedef struct builtin_vocabulary {
    const char *name;
    const unsigned char *data;
    size_t size;
} builtin_vocabulary;
extern const builtin_vocabulary photos_builtin_vocabularies[];

${arrays}const builtin_vocabulary photos_builtin_vocabularies[] = {
${entries}    {NULL, NULL, 0},
};
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
