# The library of `record --device-times`: C with nothing but libc, carried in the binary as bytes, as
# that of --preload is. records.c is also in the recorder, which measures its cost.
add_library(tidegauge_injection_records OBJECT injection/records.c)
add_library(tidegauge_cupti_times SHARED injection/inject.c injection/find.c
            $<TARGET_OBJECTS:tidegauge_injection_records>)
foreach(target tidegauge_injection_records tidegauge_cupti_times)
  set_target_properties(${target} PROPERTIES C_STANDARD 17 C_VISIBILITY_PRESET hidden
                        POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -O2 -fno-sanitize=all)
endforeach()
set_target_properties(tidegauge_cupti_times PROPERTIES PREFIX ""
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/preload)
target_link_options(tidegauge_cupti_times PRIVATE -static-libgcc -fno-sanitize=all -Wl,-z,defs
                    -Wl,-z,now -Wl,--no-undefined)
target_link_libraries(tidegauge_cupti_times PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set(times_file ${PROJECT_BINARY_DIR}/preload/tidegauge_cupti_times.so)
add_library(tidegauge_injection STATIC $<TARGET_OBJECTS:tidegauge_injection_records>)
tidegauge_embed(tidegauge_injection ${times_file} tidegauge_times_library)
add_dependencies(tidegauge_injection tidegauge_cupti_times)
