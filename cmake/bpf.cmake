# The BPF programs of bpf/: compiled by clang for the kernel's machine, then carried in the binary as
# bytes. Where clang or libbpf is missing, or the machine is no x86-64, there is no recorder, and
# `record` says so.
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.1)
pkg_check_modules(LIBELF IMPORTED_TARGET libelf libdw)
find_program(BPF_CLANG NAMES clang clang-14 clang-18)
set(TIDEGAUGE_RECORDER OFF)
if(LIBBPF_FOUND AND LIBELF_FOUND AND BPF_CLANG AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(TIDEGAUGE_RECORDER ON)
endif()

if(TIDEGAUGE_RECORDER)
  enable_language(ASM)
  file(GLOB bpf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bpf/*.h ${PROJECT_SOURCE_DIR}/bpf/*.c)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bpf)
  # tidegauge_bpf_object(SOURCE SYMBOL): SOURCE.bpf.c as the bytes from SYMBOL to SYMBOL_end.
  #
  # -g: the type information by which libbpf finds fields in the running kernel. v3: additions that
  # give the sum (Linux 5.12). The multiarch folder: clang for another target does not look there for
  # asm/.
  function(tidegauge_bpf_object source symbol)
    set(object ${PROJECT_BINARY_DIR}/bpf/${source}.bpf.o)
    set(assembly ${PROJECT_BINARY_DIR}/bpf/${source}.S)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${BPF_CLANG} -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86
              -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
              -c ${PROJECT_SOURCE_DIR}/bpf/${source}.bpf.c -o ${object}
      DEPENDS ${bpf_sources}
      COMMENT "Compiling the BPF programs of ${source}" VERBATIM)
    file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT
"  .section .rodata
  .balign 8
  .global @symbol@
@symbol@:
  .incbin \"@object@\"
  .global @symbol@_end
@symbol@_end:
  .byte 0
  .section .note.GNU-stack,\"\",@progbits
")
    set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${object})
    target_sources(tidegauge_bpf PRIVATE ${assembly})
  endfunction()
  add_library(tidegauge_bpf STATIC)
  # As C, the archive is made anew each time; as assembly, members that are no more would stay in it.
  set_target_properties(tidegauge_bpf PROPERTIES LINKER_LANGUAGE C)
  tidegauge_bpf_object(recorder tidegauge_bpf_object)
  tidegauge_bpf_object(page_tables tidegauge_page_tables_object)
endif()
