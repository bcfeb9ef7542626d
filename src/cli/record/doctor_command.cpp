#include <memory>

#include "cli/commands.h"
#include "cli/record/record_options.h"

namespace tidegauge::cli {

void addDoctorCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor", "Check what `record` can do on this machine");
  command
      ->add_option("LIBRARY", options->libraries,
                   "Also check these libraries: a libcuda.so.1, libcudart.so.12 or libc10_cuda.so")
      ->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_code] { exit_code = runDoctor(*options); });
}

}  // namespace tidegauge::cli
