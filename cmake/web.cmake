# SPDX-License-Identifier: Apache-2.0
# The npm package and the pages (bindings/web): the target `web` builds <build>/web, which any static server can serve.
# It is compiled by clang for WebAssembly, whatever this build's compiler is.
add_custom_target(web
    COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/web-build ${PROJECT_BINARY_DIR}/web
    VERBATIM USES_TERMINAL)
