#include <memory>

#include "cli/commands.h"
#include "cli/options/usage.h"
#include "cli/watch/live_options.h"

namespace tidegauge::cli {

void addTopCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "Show live device memory by process");
  addTargetOptions(*command, options->targets);
  command->add_flag("--once", options->once, "Watch for one interval, print the table and exit");
  command->add_flag("--json", options->json, "(--once) Print JSON");
  command->add_option("--every", options->every_s, "Seconds between updates")
      ->check(number(0.1, 3600))
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--sort", options->sort, "Sort by this column, largest first")
      ->check(oneOf({"live", "peak", "alloc", "launches", "copies", "failures", "pid"}))
      ->type_name("COLUMN")
      ->capture_default_str();
  command
      ->add_option("--filter", options->filter,
                   "Show only processes whose name or PID contains this text")
      ->type_name("TEXT");
  command->callback([options, &exit_code] {
    exit_code = checkTargets(options->targets);
    if (exit_code == 0 && options->json && !options->once)
      exit_code = usageError("--json needs --once");
    if (exit_code == 0) exit_code = runTop(*options);
  });
}

}  // namespace tidegauge::cli
