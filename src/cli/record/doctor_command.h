// tidegauge doctor [LIBRARY…] [--json]: what a recorder can do on this machine, and how to get the
// rest.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tidegauge::cli {

struct DoctorOptions {
  std::vector<std::string> libraries;  // to examine, besides those that are found
  bool json = false;
};

// Returns the exit code: 0, or 4 if this machine cannot record. (Without the recorder in the build:
// 4.)
int runDoctor(const DoctorOptions& options);

void addDoctorCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
