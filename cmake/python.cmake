# SPDX-License-Identifier: Apache-2.0
# The Python package (bindings/python): the library and the trainer as one shared object that ctypes loads, made of the
# objects that are there anyway, and the target `python`, which makes a wheel of it in <build>/python.
# Of the sanitizers, gcc's address sanitizer can be loaded before an ordinary Python.
if(KEYBITS_SANITIZE AND NOT (CMAKE_C_COMPILER_ID STREQUAL "GNU" AND KEYBITS_SANITIZE MATCHES "address"))
    return()
endif()
if(WIN32 AND NOT BUILD_SHARED_LIBS) # objects of a DLL are marked for export when they are compiled
    return()
endif()

add_library(keybits-python SHARED $<TARGET_OBJECTS:keybits_objects>)
if(TARGET keybits-learn-objects)
    target_sources(keybits-python PRIVATE $<TARGET_OBJECTS:keybits-learn-objects>)
    target_link_libraries(keybits-python PRIVATE ${CMAKE_DL_LIBS})
endif()
if(UNIX)
    target_link_libraries(keybits-python PRIVATE m)
endif()
if(KEYBITS_THREADS)
    target_link_libraries(keybits-python PRIVATE Threads::Threads)
endif()
set_target_properties(keybits-python PROPERTIES OUTPUT_NAME keybits LINKER_LANGUAGE C
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python)
if(MINGW) # no DLL of the compiler is needed beside it
    set_target_properties(keybits-python PROPERTIES PREFIX "")
    target_link_options(keybits-python PRIVATE -static)
endif()

# Collections read and write files, which takes libjpeg and others: a library beside it, loaded when it is used.
set(python_libraries KEYBITS_LIBRARY_FILE=$<TARGET_FILE:keybits-python>)
set(python_needs keybits-python)
if(TARGET keybits-collection)
    add_library(keybits-python-collection SHARED $<TARGET_OBJECTS:keybits-collection>)
    target_link_libraries(keybits-python-collection PRIVATE keybits-pipeline keybits-io keybits_inside ${CMAKE_DL_LIBS})
    if(KEYBITS_GNU_LIKE AND NOT APPLE)
        target_link_options(keybits-python-collection PRIVATE -Wl,--exclude-libs,ALL)
    endif()
    set_target_properties(keybits-python-collection PROPERTIES OUTPUT_NAME keybits-collection LINKER_LANGUAGE C
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python)
    list(APPEND python_libraries KEYBITS_COLLECTION_FILE=$<TARGET_FILE:keybits-python-collection>)
    list(APPEND python_needs keybits-python-collection)
endif()

add_custom_target(python
    COMMAND ${CMAKE_COMMAND} -E env ${python_libraries}
            bash ${PROJECT_SOURCE_DIR}/scripts/python-wheel ${PROJECT_BINARY_DIR}/python
    DEPENDS ${python_needs} VERBATIM)
