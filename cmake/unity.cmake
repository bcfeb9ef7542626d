# Unity builds: the sources of a room (a folder) are compiled together, so that the headers of all of
# them are read once. That takes a third of the processor time of one compilation per source.
#
#   tidegauge_unity(TARGET)   TARGET's sources, by folder, up to 12 in one compilation
#
# So names in the anonymous namespaces of one room must differ. With TIDEGAUGE_UNITY=OFF each source
# is compiled alone: clang-tidy wants that, and it proves that each file includes what it names.
option(TIDEGAUGE_UNITY "Compile the sources of a room together" ON)

function(tidegauge_unity target)
  if(NOT TIDEGAUGE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH room)
    cmake_path(ABSOLUTE_PATH room)
    cmake_path(RELATIVE_PATH room BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${room}" room)
    if(NOT DEFINED count_${room})
      set(count_${room} 0)
    endif()
    math(EXPR batch "${count_${room}} / 12")
    math(EXPR count_${room} "${count_${room}} + 1")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP
                 "${room}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Together, sources look like headers to GCC, where types of an anonymous namespace would be a
  # mistake; and to clang a name of one source is hidden by a local name of the next.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                         $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
  # GCC inlines less in large compilations; what is large to it must not depend on how many sources
  # are compiled together (the reader took 6 % more instructions).
  target_compile_options(${target} PRIVATE
                         "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param large-unit-insns=200000>")
endfunction()
