# TIDEGAUGE_UNITY: a dozen files of a library are compiled as one, which halves the time of the build with
# sanitizers. Not for everyday work: there one file that has changed is one file to compile.
#
# Files that define what another one of their library defines for itself stand alone. If a new one does ("redefinition
# of … {anonymous}"), name it here, or give the two one home.
set(unity_alone
  analysis/advice_segments analysis/sample_points cli/frag_command cli/wss_survey export/frag_limits
  export/recording_work query/recorded_tables readers/recording/event_rows
  readers/recording/work_tables record/elf_file record/nvml record/perf_map record/process_lines
  record/recorder record/session_unwatched server/event_answers server/http_push server/http_server
  wss/heat_text wss/measurement_parse wss/measurement_write wss/page_sums wss/page_tables
  wss/pressure)

function(tidegauge_unity)
  foreach(target ${ARGN})
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
      # A file that is included is no header: what it hides stays hidden.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endforeach()
endfunction()

if(TIDEGAUGE_UNITY)
  foreach(file ${unity_alone})
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${file}.cpp
                                PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  tidegauge_unity(tidegauge_base tidegauge_model tidegauge_readers_torch tidegauge_readers_recording
                  tidegauge_store tidegauge_replay tidegauge_analysis tidegauge_view tidegauge_query
                  tidegauge_record tidegauge_wss tidegauge_export tidegauge_server tidegauge_cli)
endif()
