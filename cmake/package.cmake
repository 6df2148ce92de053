# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB in the build folder makes keybits_VERSION_ARCHITECTURE.deb; TGZ works too.
set(CPACK_PACKAGE_NAME keybits)
set(CPACK_PACKAGE_VENDOR "keybits")
set(CPACK_PACKAGE_CONTACT "keybits maintainers <maintainers@keybits.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Detects keypoints, describes them by bits (BAD, HashSIFT, BAG), matches them and fits\n"
    "geometry: the library, its header, the program, its man page and its documents.")
string(REPLACE ";" "" CPACK_DEBIAN_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_PACKAGE_DESCRIPTION}")
# Which packages the program needs; asks dpkg-shlibdeps (Debian: dpkg-dev).
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET keybits-io AND HEIF_FOUND)
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libheif1) # loaded for the first HEIC, which dpkg-shlibdeps does not see
endif()
# The module that compares with OpenCV stays out, since the package would depend on OpenCV.
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
include(CPack)
