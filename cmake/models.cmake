# SPDX-License-Identifier: Apache-2.0
# Turns the model files that KEYBITS_MODELS chooses into one C file of tables; sets builtin_tables to its path.
file(GLOB model_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.kbm)
set(chosen_models)
if(KEYBITS_MODELS STREQUAL "all")
    set(chosen_models ${model_files})
    if(NOT KEYBITS_KINDS STREQUAL "all")
        list(JOIN KEYBITS_KINDS "|" kinds)
        list(FILTER chosen_models INCLUDE REGEX "/(${kinds})[0-9]+\\.kbm$")
    endif()
elseif(NOT KEYBITS_MODELS STREQUAL "none")
    string(REPLACE "," ";" wanted "${KEYBITS_MODELS}")
    foreach(name IN LISTS wanted)
        set(path ${PROJECT_SOURCE_DIR}/models/${name}.kbm)
        if(NOT path IN_LIST model_files)
            message(FATAL_ERROR "KEYBITS_MODELS names ${name}, but there is no models/${name}.kbm")
        endif()
        list(APPEND chosen_models ${path})
    endforeach()
endif()
list(JOIN chosen_models "|" joined_models)
set(other_models ${model_files})
if(chosen_models)
    list(REMOVE_ITEM other_models ${chosen_models})
endif()
list(JOIN other_models "|" joined_others)

set(builtin_tables ${PROJECT_BINARY_DIR}/generated/builtin_tables.c)
add_custom_command(
    OUTPUT ${builtin_tables}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${joined_models}" "-DOTHERS=${joined_others}"
            "-DOUTPUT=${builtin_tables}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${chosen_models} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Turning model files into tables"
    VERBATIM)
