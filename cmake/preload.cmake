# The library of `record --preload`: wrappers of the watched functions, in C and assembly with nothing
# but libc, carried in the binary as bytes.
add_library(tidegauge_shim SHARED preload/calls.c preload/lookup.c preload/python.c preload/send.c
            preload/walk.c
            preload/entries.S preload/resume.S)
set_target_properties(tidegauge_shim PROPERTIES C_STANDARD 17 C_VISIBILITY_PRESET hidden PREFIX ""
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/preload)
target_include_directories(tidegauge_shim PRIVATE ${PROJECT_SOURCE_DIR})
# Optimised in every build: it is a part of what the watched programs do. No sanitizers: the programs
# have none. Variables of threads lie where the loader puts those of the program itself.
target_compile_options(tidegauge_shim PRIVATE -O2 -fno-sanitize=all -ftls-model=initial-exec)
target_link_options(tidegauge_shim PRIVATE -static-libgcc -fno-sanitize=all -Wl,-z,defs -Wl,-z,now
                    -Wl,--no-undefined)
target_link_libraries(tidegauge_shim PRIVATE ${CMAKE_DL_LIBS})
if(TIDEGAUGE_WHEEL)  # zig has the unwinder in a library of its own (cmake/zig.cmake)
  target_link_libraries(tidegauge_shim PRIVATE unwind)
endif()
set(shim_file ${PROJECT_BINARY_DIR}/preload/tidegauge_shim.so)
add_library(tidegauge_preload STATIC)
tidegauge_embed(tidegauge_preload ${shim_file} tidegauge_preload_library)
add_dependencies(tidegauge_preload tidegauge_shim)
