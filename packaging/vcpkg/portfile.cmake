# SPDX-License-Identifier: Apache-2.0
# The library alone, from the source tarball of the release.
vcpkg_download_distfile(archive
    URLS "https://github.com/keybits/keybits/releases/download/v${VERSION}/keybits-${VERSION}-source.tar.gz"
    FILENAME "keybits-${VERSION}-source.tar.gz"
    SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DKEYBITS_EXTRAS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME keybits CONFIG_PATH lib/cmake/keybits)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
