# TIDEGAUGE_UNITY: of the two libraries whose files take longest (each has the templates of CLI11 or of JSON), eight
# files are compiled as one: a third of their time. Not for everyday work, where one file that has changed is one
# file to compile.
#
# Files that define what another one of their library defines for itself stand alone. If a new one does ("redefinition
# of … {anonymous}"), name it here, or give the two one home.
set(unity_alone cli/frag_command cli/wss_survey server/event_answers server/http_push server/table_answers
                server/http_server)

if(TIDEGAUGE_UNITY)
  foreach(file ${unity_alone})
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${file}.cpp
                                PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  set_target_properties(tidegauge_cli tidegauge_server PROPERTIES UNITY_BUILD ON
                                                                  UNITY_BUILD_BATCH_SIZE 8)
endif()
