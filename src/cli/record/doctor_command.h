// tidegauge doctor [LIBRARY…] [--json]: what this machine lets a recorder do, and how to get the
// rest.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tidegauge::cli {

struct DoctorOptions {
  std::vector<std::string> libraries;  // looked at besides those that are found
  bool json = false;
};

// The exit code: 0, or 4 if this machine cannot record. (Where the recorder was not built: 4.)
int runDoctor(const DoctorOptions& options);

void addDoctorCommand(CLI::App& app, int& exit_code);

}  // namespace tidegauge::cli
