# The BPF programs of bpf/: compiled by clang for the kernel's machine, then carried in the binary as
# bytes. Two of them, by what they need beside clang and libbpf:
#
#   TIDEGAUGE_PAGE_TABLES   the reader of page tables (`wss`)   x86-64, arm64
#   TIDEGAUGE_RECORDER      `record` and all that watches       x86-64; libelf, libdw
#
# Where one is missing the commands that need it say so.
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.1)
pkg_check_modules(LIBELF IMPORTED_TARGET libelf libdw)
find_program(BPF_CLANG NAMES clang clang-14 clang-18)
set(bpf_machine_x86_64 x86)
set(bpf_machine_aarch64 arm64)
set(bpf_machine ${bpf_machine_${CMAKE_SYSTEM_PROCESSOR}})
set(TIDEGAUGE_PAGE_TABLES OFF)
set(TIDEGAUGE_RECORDER OFF)
if(LIBBPF_FOUND AND BPF_CLANG AND bpf_machine)
  set(TIDEGAUGE_PAGE_TABLES ON)
  if(LIBELF_FOUND AND bpf_machine STREQUAL "x86")
    set(TIDEGAUGE_RECORDER ON)
  endif()
endif()

if(TIDEGAUGE_PAGE_TABLES)
  enable_language(ASM)
  file(GLOB bpf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bpf/*.h
       ${PROJECT_SOURCE_DIR}/bpf/*/*.h ${PROJECT_SOURCE_DIR}/bpf/*.c)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bpf)
  set(multiarch ${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT multiarch)  # a compiler for another system than this one (cmake/zig.cmake)
    set(multiarch ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  endif()
  # tidegauge_compile_bpf(SOURCE MACHINE OBJECT): SOURCE.bpf.c for a kernel on MACHINE, as libbpf names it.
  #
  # -g: the type information by which libbpf finds fields in the running kernel. v3: additions that
  # give the sum (Linux 5.12). The multiarch folder: clang for another target does not look there for
  # asm/, of which the programs take the integers, which are the same on all.
  function(tidegauge_compile_bpf source machine object)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${BPF_CLANG} -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_${machine}
              -I/usr/include/${multiarch} -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
              -c ${PROJECT_SOURCE_DIR}/bpf/${source}.bpf.c -o ${object}
      DEPENDS ${bpf_sources}
      COMMENT "Compiling the BPF programs of ${source} for ${machine}" VERBATIM)
  endfunction()
  # tidegauge_bpf_object(SOURCE SYMBOL): SOURCE.bpf.c as the bytes from SYMBOL to SYMBOL_end.
  function(tidegauge_bpf_object source symbol)
    set(object ${PROJECT_BINARY_DIR}/bpf/${source}.bpf.o)
    tidegauge_compile_bpf(${source} ${bpf_machine} ${object})
    tidegauge_embed(tidegauge_bpf ${object} ${symbol})
  endfunction()
  add_library(tidegauge_bpf STATIC)
  tidegauge_bpf_object(page_tables tidegauge_page_tables_object)
  # Of the same object a program that loads it; empty if this libbpf cannot make one.
  add_executable(make_bpf_loader tools/make_bpf_loader.cpp)
  target_link_libraries(make_bpf_loader PRIVATE PkgConfig::LIBBPF)
  set(page_tables_object ${PROJECT_BINARY_DIR}/bpf/page_tables.bpf.o)
  set(page_tables_loader ${PROJECT_BINARY_DIR}/bpf/page_tables.loader)
  add_custom_command(
    OUTPUT ${page_tables_loader}
    COMMAND make_bpf_loader ${page_tables_object} ${page_tables_loader}
            readPageTables request wanted kinds tables
    DEPENDS ${page_tables_object} make_bpf_loader
    COMMENT "Making the program that loads page_tables" VERBATIM)
  tidegauge_embed(tidegauge_bpf ${page_tables_loader} tidegauge_page_tables_loader)
  if(TIDEGAUGE_RECORDER)
    tidegauge_bpf_object(recorder tidegauge_bpf_object)
  endif()
endif()
