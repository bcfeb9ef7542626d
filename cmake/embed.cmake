# tidegauge_embed(TARGET FILE SYMBOL): a file that the build makes, carried in TARGET as the bytes from
# SYMBOL to SYMBOL_end.
#
#   tidegauge_embed(tidegauge_bpf ${object} tidegauge_bpf_object)
#   extern "C" const unsigned char tidegauge_bpf_object[], tidegauge_bpf_object_end[];
function(tidegauge_embed target file symbol)
  set(assembly ${PROJECT_BINARY_DIR}/embedded/${symbol}.S)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT
"  .section .rodata
  .balign 8
  .global @symbol@
@symbol@:
  .incbin \"@file@\"
  .global @symbol@_end
@symbol@_end:
  .byte 0
  .section .note.GNU-stack,\"\",@progbits
")
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${assembly})
  # As C, an archive is made anew each time; as assembly, members that are no more would stay in it.
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()
