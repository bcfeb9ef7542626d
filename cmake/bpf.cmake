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
  set(bpf_object ${PROJECT_BINARY_DIR}/bpf/recorder.bpf.o)
  file(GLOB bpf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bpf/*.h ${PROJECT_SOURCE_DIR}/bpf/*.c)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bpf)
  # -g: the type information by which libbpf finds fields in the running kernel. v3: additions that
  # give the sum (Linux 5.12). The multiarch folder: clang for another target does not look there for
  # asm/.
  add_custom_command(
    OUTPUT ${bpf_object}
    COMMAND ${BPF_CLANG} -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86
            -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
            -c ${PROJECT_SOURCE_DIR}/bpf/recorder.bpf.c -o ${bpf_object}
    DEPENDS ${bpf_sources}
    COMMENT "Compiling the BPF programs" VERBATIM)
  file(WRITE ${PROJECT_BINARY_DIR}/bpf/object.S.in
"  .section .rodata
  .balign 8
  .global tidegauge_bpf_object
tidegauge_bpf_object:
  .incbin \"${bpf_object}\"
  .global tidegauge_bpf_object_end
tidegauge_bpf_object_end:
  .byte 0
  .section .note.GNU-stack,\"\",@progbits
")
  configure_file(${PROJECT_BINARY_DIR}/bpf/object.S.in ${PROJECT_BINARY_DIR}/bpf/object.S COPYONLY)
  set_source_files_properties(${PROJECT_BINARY_DIR}/bpf/object.S PROPERTIES OBJECT_DEPENDS ${bpf_object})
  add_library(tidegauge_bpf STATIC ${PROJECT_BINARY_DIR}/bpf/object.S)
endif()
