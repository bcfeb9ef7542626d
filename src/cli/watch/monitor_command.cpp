#include <memory>

#include "cli/commands.h"
#include "cli/options/usage.h"
#include "cli/watch/live_options.h"

namespace tidegauge::cli {

void addMonitorCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MonitorOptions>();
  CLI::App* command = app.add_subcommand(
      "monitor", "Serve live memory figures as a page, for Prometheus and for OpenTelemetry");
  command
      ->add_option("--listen", options->listen,
                   "Address of /metrics, loopback only; port 0 takes a free one")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      ->add_option("--otlp", options->otlp,
                   "Also push to this collector: http://HOST[:4318][/v1/metrics]")
      ->type_name("URL");
  command->add_option("--otlp-every", options->otlp_every_s, "Seconds between pushes")
      ->check(number(0.1, 86'400))
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--metrics-token", options->metrics_token,
                   "Serve /metrics only to requests with the token in FILE (Authorization: Bearer)")
      ->type_name("FILE");
  command->add_flag("--no-process-labels", options->no_process_labels,
                    "Sum metrics over all processes, without pids, names, kernels and libraries");
  command
      ->add_option("--stacks", options->stacks,
                   "Call stacks of driver memory for the live page: user or none")
      ->check(oneOf({"user", "none"}))
      ->type_name("WHICH")
      ->capture_default_str();
  command
      ->add_option("--wss", options->wss,
                   "Also measure the working sets of these PIDs, or of comm:NAME, cgroup:PATH or "
                   "all-watched (watched processes that have called CUDA)")
      ->type_name("WHOM");
  command
      ->add_option("--wss-window", options->wss_window_s, "Length of a window of --wss in seconds")
      ->check(number(0.001, 3600))
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--wss-every", options->wss_every_s,
                   "Seconds from one window of --wss to the next")
      ->check(number(0.1, 86'400))
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--wss-max-stall-ms", options->wss_max_stall_ms,
                   "Sample processes that reading all pages would stall for more than this many "
                   "milliseconds")
      ->check(number(0.001, 1e6))
      ->type_name("MS")
      ->capture_default_str();
  addTargetOptions(*command, options->targets);
  command->callback([options, &exit_code] {
    exit_code = checkTargets(options->targets);
    if (exit_code == 0) exit_code = runMonitor(*options);
  });
}

}  // namespace tidegauge::cli
