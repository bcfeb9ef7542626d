// tidegauge: records, shows and explains the use of GPU memory. commands.h lists the commands.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {
namespace {

int run(int argc, char** argv) {
  guardStandardStreams();
  copyComplaints();
  guardAgainstShrinkingFiles();
  CLI::App app{"Record, show and explain where GPU memory went.", "tidegauge"};
  app.set_version_flag("--version", fmt::format("tidegauge {}", base::version()));
  app.require_subcommand(1);
  int exit_code = 0;
  addViewCommand(app, exit_code);
  addReportCommand(app, exit_code);
  addQueryCommand(app, exit_code);
  addFragCommand(app, exit_code);
  addWhatIfCommand(app, exit_code);
  addDiffCommand(app, exit_code);
  addRecordCommand(app, exit_code);
  addTopCommand(app, exit_code);
  addMonitorCommand(app, exit_code);
  addWssCommand(app, exit_code);
  addDoctorCommand(app, exit_code);
  addCategoriesCommand(app, exit_code);
  addExportCommand(app, exit_code);
  return runCommandLine(app, argc, argv, exit_code);
}

}  // namespace
}  // namespace tidegauge::cli

// What cannot even be said ends the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  try {
    return tidegauge::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    tidegauge::cli::complain("tidegauge: there is not enough memory for this file.");
  } catch (const std::exception& error) {
    tidegauge::cli::complain(std::string("tidegauge: unexpected error: ") + error.what());
  }
  return 3;
}
