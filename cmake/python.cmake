# The extension module of the Python package: build/…/python/tidegauge/_engine.abi3.so, beside the
# package's own files, so that PYTHONPATH=build/…/python imports it.
#
# One file for CPython 3.10 and every later version: only the limited API of 3.10 is used.
if(NOT TIDEGAUGE_PYTHON_INCLUDE)
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  set(TIDEGAUGE_PYTHON_INCLUDE ${Python3_INCLUDE_DIRS})
endif()

tidegauge_library(python python tidegauge_export tidegauge_query tidegauge_readers_torch
                  tidegauge_readers_recording nlohmann_json::nlohmann_json)

# What needs an interpreter is in the module alone, so that tests of the rest need none.
file(GLOB binding CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/binding/*.cpp)
add_library(_engine MODULE ${binding})
target_include_directories(_engine SYSTEM PRIVATE ${TIDEGAUGE_PYTHON_INCLUDE})
target_compile_definitions(_engine PRIVATE Py_LIMITED_API=0x030A0000)
# zlib first: the static elfutils of the wheel, of which nothing is used here, has a crc32() as well.
target_link_libraries(_engine PRIVATE ZLIB::ZLIB tidegauge_python)
tidegauge_precompile(_engine json)
tidegauge_unity(_engine)
set_target_properties(_engine PROPERTIES PREFIX "" SUFFIX ".abi3.so" OUTPUT_NAME _engine
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/tidegauge)
set(exports ${PROJECT_SOURCE_DIR}/cmake/python_exports.map)
target_link_options(_engine PRIVATE -Wl,--version-script=${exports})
set_target_properties(_engine PROPERTIES LINK_DEPENDS ${exports})

if(SKBUILD)
  install(TARGETS _engine LIBRARY DESTINATION tidegauge)
endif()

# The package's own files beside it, as links: an edit needs no build.
file(GLOB package CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/tidegauge
     ${PROJECT_SOURCE_DIR}/python/tidegauge/*)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/tidegauge)
foreach(entry ${package})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/tidegauge/${entry}
       ${PROJECT_BINARY_DIR}/python/tidegauge/${entry} SYMBOLIC)
endforeach()
