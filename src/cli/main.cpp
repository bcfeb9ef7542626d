// tidegauge: records, shows and explains where GPU memory went. One file per sub-command beside
// this.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/view_command.h"

int main(int argc, char** argv) {
  CLI::App app{"Tidegauge shows and explains where GPU memory went.", "tidegauge"};
  app.set_version_flag("--version", "tidegauge 0.1.0");
  app.require_subcommand(1);
  int exit_code = 0;
  tidegauge::cli::addViewCommand(app, exit_code);
  tidegauge::cli::addReportCommand(app, exit_code);
  tidegauge::cli::addQueryCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? 0 : 2;
  } catch (const std::bad_alloc&) {
    std::fputs("tidegauge: not enough memory for this file.\n", stderr);
    return 3;
  }
  return exit_code;
}
