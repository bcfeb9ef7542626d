// The commands, each added to the command line by its own file.
//
//   tidegauge report run.pickle --top 20   addReportCommand() names the options and their help;
//                                          its callback runs the command and sets `exit_code`
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tidegauge::cli {

// FILE…: opens the files, serves the page on loopback, prints its address.
void addViewCommand(CLI::App& app, int& exit_code);

// FILE… [--json] [--top N]: where the memory went, as text or JSON.
void addReportCommand(CLI::App& app, int& exit_code);
// As `tidegauge report FILE`. The exit code.
int reportFile(const std::string& path);

// FILE [SQL|-]: SQL over the file's tables; without SQL, the list of tables.
void addQueryCommand(CLI::App& app, int& exit_code);

// FILE: what lay free inside segments and could not be used, over time; a score of the layout's
// shape with its forecast; a picture of where blocks lay.
void addFragCommand(CLI::App& app, int& exit_code);

// FILE: the allocator replayed, under the recording's settings to prove it, and under others to say
// which would have helped.
void addWhatIfCommand(CLI::App& app, int& exit_code);

// A B: what grew, what vanished, by source line; with more files, or the devices of one, which of
// the ranks is the odd one.
void addDiffCommand(CLI::App& app, int& exit_code);

// [-o FILE] -- COMMAND…: what a program does with device memory, through eBPF.
void addRecordCommand(CLI::App& app, int& exit_code);

// [-p PID | --comm GLOB | …] [--once [--json]]: which processes hold and move device memory, now.
void addTopCommand(CLI::App& app, int& exit_code);

// [--listen 127.0.0.1:9400] [--otlp http://…] [--stacks WHICH] [-p PID | --comm GLOB | …]: figures
// of all that runs, as a live page, for Prometheus and OpenTelemetry, until Ctrl-C.
void addMonitorCommand(CLI::App& app, int& exit_code);

// [options] PID SECONDS: how many bytes a process really touches in that time.
void addWssCommand(CLI::App& app, int& exit_code);

// [LIBRARY…] [--json]: what this machine lets a recorder do, and how to get the rest.
void addDoctorCommand(CLI::App& app, int& exit_code);

// [FILE]: the rules that say what memory is for, to be edited; or checks those of a file.
void addCategoriesCommand(CLI::App& app, int& exit_code);

// FILE --to html [-o OUT]: a recording as a file for others.
void addExportCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
