# SPDX-License-Identifier: Apache-2.0
# cmake -DMANIFEST=install_manifest.txt -P uninstall.cmake: removes the files that an installation wrote, and the folders
# of ours that are empty then.
if(NOT EXISTS "${MANIFEST}")
    message(FATAL_ERROR "nothing is known to be installed: ${MANIFEST} is not there")
endif()
file(STRINGS "${MANIFEST}" installed)
foreach(path IN LISTS installed)
    set(path "$ENV{DESTDIR}${path}")
    if(EXISTS "${path}" OR IS_SYMLINK "${path}")
        message(STATUS "removing ${path}")
        file(REMOVE "${path}")
    endif()
    # Folders that carry our name, from the innermost on.
    get_filename_component(folder "${path}" DIRECTORY)
    while(folder MATCHES "/keybits(/|$)")
        file(GLOB left LIST_DIRECTORIES true "${folder}/*")
        if(left OR NOT IS_DIRECTORY "${folder}")
            break()
        endif()
        file(REMOVE_RECURSE "${folder}")
        get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
endforeach()
