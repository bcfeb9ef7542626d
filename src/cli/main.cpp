// tidegauge: records, shows and explains the use of GPU memory. commands.h lists the commands.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

int main(int argc, char** argv) {
  using namespace tidegauge::cli;
  guardStandardStreams();
  guardAgainstShrinkingFiles();
  CLI::App app{"Record, show and explain where GPU memory went.", "tidegauge"};
  app.set_version_flag("--version", fmt::format("tidegauge {}", tidegauge::base::version()));
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
  try {
    return runCommandLine(app, argc, argv, exit_code);
  } catch (const std::bad_alloc&) {
    complain("tidegauge: there is not enough memory for this file.");
  } catch (const std::exception& error) {
    complain(std::string("tidegauge: unexpected error: ") + error.what());
  }
  return 3;
}
