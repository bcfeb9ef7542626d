#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/ascii.h"
#include "base/sizes.h"
#include "cli/commands.h"
#include "cli/options/usage.h"
#include "cli/record/record_options.h"
#include "view/filter/search_words.h"

namespace tidegauge::cli {
namespace {

constexpr uint64_t kMinRing = uint64_t{64} << 10;
constexpr uint64_t kMaxRing = uint64_t{1} << 30;
constexpr uint64_t kMinSize = uint64_t{16} << 20;

int checkPids(std::vector<uint32_t> pids) {
  std::sort(pids.begin(), pids.end());
  auto twice = std::adjacent_find(pids.begin(), pids.end());
  if (twice != pids.end()) return usageError(fmt::format("-p names process {} twice", *twice));
  if (std::binary_search(pids.begin(), pids.end(), static_cast<uint32_t>(getpid())))
    return usageError(fmt::format("process {} is this recorder itself", getpid()));
  return 0;
}

int check(const RecordOptions& options) {
  int ways = !options.command.empty() + !options.pids.empty() +
             (options.all || !options.name_glob.empty() || !options.cgroup.empty());
  if (ways == 0)
    return usageError(
        "there is nothing to record",
        "Name a command after “--”, or processes with -p PID, --comm NAME, --cgroup FOLDER or "
        "--all");
  if (ways > 1) return usageError("a command, -p, and --all (--comm, --cgroup) exclude each other");
  if (int code = checkPids(options.pids); code != 0) return code;
  if (options.launch_arguments > 0 && !options.launch_events)
    return usageError(
        "--args needs --launch-events, because it records the arguments of single launches",
        "Add --launch-events, or omit --args");
  if (options.whole_arguments && options.launch_arguments == 0)
    return usageError("--args-whole needs --args",
                      "Add --args N: the number of arguments to record where sizes are unknown");
  if (options.device_times && options.command.empty())
    return usageError("--device-times works only with a command that record starts",
                      "Name a command after “--”, or omit --device-times");
  if (options.preload && options.link_each)
    return usageError("--link-each needs eBPF, and --preload does not use it");
  if (options.preload && options.command.empty())
    return usageError(
        "--preload records only a program that record starts",
        "Name a command after “--”; to record running processes, use eBPF (as root, without "
        "--preload)");
  if (options.preload && (options.sudo || options.as_root))
    return usageError("--sudo and --as-root need eBPF, because --preload needs no privilege");
  if (options.as_root && options.command.empty())
    return usageError("--as-root works only with a command that record starts");
  if (options.as_root && geteuid() != 0 && !options.sudo)
    return usageError("--as-root needs root", "Call record through sudo, or add --sudo");
  if (options.preload && options.launch_arguments > 0)
    return usageError(
        "--args needs eBPF, because a preloaded library does not know how many arguments a kernel "
        "has");
  return 0;
}

}  // namespace

void addRecordCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RecordOptions>();
  auto ring = std::make_shared<std::string>("8MiB");
  auto max_size = std::make_shared<std::string>();
  auto keep_free = std::make_shared<std::string>("1GiB");
  CLI::App* command =
      app.add_subcommand("record", "Record CUDA driver, runtime and PyTorch memory calls");
  command->add_option("COMMAND", options->command, "Program to run and record, after “--”");
  command->add_option("-o,--output", options->output, "Recording to write, an SQLite file")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Overwrite FILE if it exists");
  command
      ->add_option(
          "--max-size", *max_size,
          "Keep only the newest data, at most SIZE in all files together (at least 16MiB), or none "
          "for no limit; without it a quarter of the free disk")
      ->type_name("SIZE");
  command
      ->add_option("--keep-free", *keep_free,
                   "Stop writing when the disk has less than SIZE left; 0 for never")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      ->add_option("-p,--pid", options->pids,
                   "Record these running processes and the children that they start from now on")
      ->check(wholeNumber(1, kMaxPid))
      ->type_name("PID");
  command->add_flag("--all", options->all, "Record every process of this machine");
  command
      ->add_option("--comm", options->name_glob,
                   "Record the processes with this name, e.g. 'python*'")
      ->type_name("GLOB");
  command
      ->add_option("--cgroup", options->cgroup,
                   "Record the processes of this cgroup (v2), e.g. of a container")
      ->type_name("FOLDER");
  command
      ->add_option("--duration", options->duration_s,
                   "Stop after this many seconds; then wait for the command")
      ->check(number(0.001, 1e9))
      ->type_name("S");
  command
      ->add_option(
          "--idle-timeout", options->idle_timeout_s,
          "Stop after this many seconds without a call, launch or copy; then wait for the command")
      ->check(number(0.001, 1e9))
      ->type_name("S");
  command->add_flag(
      "--preload", options->preload,
      "Record with a preloaded library (LD_PRELOAD) instead of eBPF: needs no root, records less");
  command->add_flag("--sudo", options->sudo,
                    "Get the privilege through sudo; the command runs as you, with all variables");
  command->add_flag("--as-root", options->as_root,
                    "(under sudo) Run the command as root, not as the user who called sudo");
  command->add_flag("--no-framework", options->no_framework, "Do not record PyTorch's own blocks");
  command->add_flag("--launch-events", options->launch_events,
                    "Record every kernel launch with its stack, instead of counts only");
  command->add_flag(
      "--device-times", options->device_times,
      "Record when the device ran each kernel, copy and set, through CUPTI inside the "
      "programs that record starts; prints its cost first");
  command->add_flag(
      "--link-each", options->link_each,
      "Attach each probe with a BPF link of its own: starts and stops slowly (Linux before 6.6 "
      "needs it)");
  command
      ->add_option(
          "--args", options->launch_arguments,
          "(--launch-events) Number of kernel arguments per launch to record (at most 8 bytes of "
          "each), at most 16")
      ->check(wholeNumber(0, 16))
      ->type_name("N");
  command->add_flag("--args-whole", options->whole_arguments,
                    "(--args) Record all parameters of a kernel and structs whole, up to 4 KiB per "
                    "launch, where its code shows their sizes");
  command
      ->add_option("--stacks", options->stacks,
                   "Call stacks to record: user (user-space frames) or none")
      ->check(oneOf({"user", "none"}))
      ->type_name("WHICH")
      ->capture_default_str();
  command->add_flag("--no-python", options->no_python,
                    "Leave the functions of Python out of stacks");
  command
      ->add_option(
          "--ring", *ring,
          "Size of the ring buffer from which the recorder reads calls: a power of two, 64KiB to "
          "1GiB")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--no-summary", options->no_summary, "Do not print a report at the end");
  command->callback([options, ring, max_size, keep_free, &exit_code] {
    std::optional<uint64_t> least = view::bytesOf(base::lowerAscii(*keep_free));
    if (*keep_free == "0") least = 0;
    if (!least || *least > base::kMaxSizeBytes) {
      exit_code =
          usageError(fmt::format("--keep-free must be a size, e.g. 1GiB, not “{}”", *keep_free));
      return;
    }
    options->keep_free_bytes = *least;
    if (*max_size == "none") {
      options->max_bytes = 0;
    } else if (!max_size->empty()) {
      std::optional<uint64_t> most = view::bytesOf(base::lowerAscii(*max_size));
      if (!most || *most < kMinSize || *most > base::kMaxSizeBytes) {
        exit_code = usageError(
            fmt::format("--max-size must be at least 16MiB and at most {}TiB, e.g. 2GiB, not “{}”",
                        base::kMaxSizeBytes >> 40, *max_size));
        return;
      }
      options->max_bytes = *most;
    }
    std::optional<uint64_t> bytes = view::bytesOf(base::lowerAscii(*ring));
    if (!bytes || *bytes < kMinRing || *bytes > kMaxRing || (*bytes & (*bytes - 1)) != 0) {
      exit_code = usageError(
          fmt::format("--ring must be a power of two from 64KiB to 1GiB, not “{}”", *ring));
      return;
    }
    options->ring_bytes = *bytes;
    exit_code = check(*options);
    if (exit_code == 0) exit_code = runRecord(*options);
  });
}

}  // namespace tidegauge::cli
