# The built page as a library: web/dist/* becomes bytes inside the binary (see tools/embed_assets.py).
# With TIDEGAUGE_WEB=OFF, or before the page is built, the library holds an empty table and the
# server answers with a sentence that says how to build the page.
set(assets_cpp ${PROJECT_BINARY_DIR}/assets/assets.cpp)
set(assets_dir ${PROJECT_SOURCE_DIR}/web/dist)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(TIDEGAUGE_WEB)
  find_program(NPM_PROGRAM npm REQUIRED)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/web/src/* ${PROJECT_SOURCE_DIR}/web/public/*
       ${PROJECT_SOURCE_DIR}/web/index.html
       ${PROJECT_SOURCE_DIR}/web/package.json ${PROJECT_SOURCE_DIR}/web/package-lock.json
       ${PROJECT_SOURCE_DIR}/web/vite.config.ts ${PROJECT_SOURCE_DIR}/web/tsconfig.json)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/assets/page.stamp
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/build_page.py
            --web ${PROJECT_SOURCE_DIR}/web --npm ${NPM_PROGRAM}
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/assets/page.stamp
    DEPENDS ${web_sources} ${PROJECT_SOURCE_DIR}/tools/build_page.py
    COMMENT "Building the page (npm)" VERBATIM)
  set(assets_dir_arg --dir ${assets_dir})
  set(assets_dep ${PROJECT_BINARY_DIR}/assets/page.stamp)
endif()
add_custom_command(
  OUTPUT ${assets_cpp}
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/embed_assets.py
          ${assets_dir_arg} --output ${assets_cpp}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/embed_assets.py
          ${PROJECT_SOURCE_DIR}/tools/inline_page.py ${assets_dep}
  COMMENT "Embedding the page" VERBATIM)
add_library(tidegauge_assets STATIC ${assets_cpp})
target_include_directories(tidegauge_assets PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tidegauge_assets PUBLIC tidegauge_base)
