#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>

#include "analysis/layout/allocator_rules.h"
#include "analysis/stated_device.h"
#include "analysis/summary.h"
#include "analysis/what_if/replay_proof.h"
#include "analysis/what_if/what_if.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/progress_bar.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "report/what_if/what_if_text.h"
#include "report/words/file_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::cli {
namespace {

struct WhatIfCommandOptions {
  std::string file;
  std::optional<int32_t> device;
  std::string capacity, recorded_capacity;
  std::vector<std::string> drops, halves;
  std::vector<std::string> flushes;
  std::vector<std::pair<std::string, std::string>> frees;  // stack, where
  analysis::WhatIfWish wish;
  bool json = false;
};

struct DeviceReport {
  const analysis::DeviceAnalysis* device = nullptr;
  analysis::WhatIf report;
};
struct WhatIfPart {
  const analysis::AnalysedTrace* trace = nullptr;
  std::vector<DeviceReport> devices;
};

// Over all devices.
nlohmann::json verifyOfAll(const WhatIfPart& part) {
  uint64_t checked = 0, exact = 0;
  nlohmann::json policy, first;
  for (const DeviceReport& it : part.devices) {
    nlohmann::json verified = report::verifyJson(*part.trace, *it.device, it.report.verified);
    checked += it.report.verified.events_checked;
    exact += it.report.verified.events_exact;
    if (policy.is_null()) policy = verified["policy"];
    if (first.is_null() && !verified["first_divergence"].is_null()) {
      first = verified["first_divergence"];
      first["device"] = it.device->device.ordinal;
    }
  }
  return {{"events_checked", checked},
          {"events_exact", exact},
          {"policy", policy},
          {"first_divergence", first}};
}

int writeJson(const std::vector<WhatIfPart>& parts, bool verify_only, int exit_code) {
  nlohmann::json all = nlohmann::json::array();
  for (const WhatIfPart& part : parts) {
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceReport& it : part.devices)
      devices.push_back(report::whatIfJson(*part.trace, *it.device, it.report, verify_only));
    all.push_back({{"file", report::clean(part.trace->trace.source.name)},
                   {"verify", verifyOfAll(part)},
                   {"devices", std::move(devices)}});
  }
  Output out;
  using Handler = nlohmann::json::error_handler_t;
  out.print("{}\n", (parts.size() == 1 ? all[0] : all).dump(2, ' ', false, Handler::replace));
  return out.finish(exit_code);
}

int writeText(const std::vector<WhatIfPart>& parts, bool verify_only, int exit_code) {
  std::vector<std::string> paths;
  paths.reserve(parts.size());
  for (const WhatIfPart& part : parts) paths.push_back(part.trace->trace.source.name);
  std::vector<std::string> names = report::distinctNames(paths);
  report::WhatIfPage page{pageColumns(), usesColours(), verify_only};
  Output out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out.print("{}{}\n", i == 0 ? "" : "\n", base::printable(names[i]));
    if (parts[i].devices.empty())
      out.print(
          "\n  There is no memory of PyTorch's caching allocator, so there is nothing to "
          "replay.\n");
    for (const DeviceReport& it : parts[i].devices)
      out.write("\n" + report::whatIfText(*parts[i].trace, *it.device, it.report, page));
  }
  return out.finish(exit_code);
}

void takeEdits(WhatIfCommandOptions& options) {
  using What = analysis::ProgramEdit::What;
  for (const std::string& pattern : options.drops)
    options.wish.edits.push_back({What::kDrop, pattern});
  for (const std::string& pattern : options.halves)
    options.wish.edits.push_back({What::kHalve, pattern});
  for (const auto& [pattern, where] : options.frees)
    options.wish.edits.push_back({What::kFreeAt, pattern, where});
  for (const std::string& where : options.flushes)
    options.wish.edits.push_back({What::kEmptyCache, {}, where});
}

// Settings of the recording itself may be passed back, known or not: the printed lines contain
// them.
std::optional<base::Error> refusalOf(const std::string& conf, const Opened& opened) {
  auto parsed = replay::parseConf(conf);
  if (parsed.ok()) return std::nullopt;
  bool is_known = std::ranges::any_of(opened.traces, [&](const auto& trace) {
    return replay::parseConf(conf, replay::settingsOf(trace->trace).not_simulated).ok();
  });
  return is_known ? std::nullopt : std::optional(parsed.error());
}

base::Error noSuchDevice(int32_t ordinal, const Traces& traces) {
  std::set<int32_t> known;
  for (const auto& trace : traces)
    for (const auto& device : trace->devices) known.insert(device->device.ordinal);
  return {base::ErrorKind::kUsage,
          fmt::format("there is no device {}", ordinal),
          {},
          known.empty() ? "The file has none."
                        : fmt::format("The file has: {}.", fmt::join(known, ", "))};
}

int run(WhatIfCommandOptions& options) {
  takeEdits(options);
  if (!options.capacity.empty()) options.wish.capacity_bytes = base::parseSize(options.capacity);
  if (!options.recorded_capacity.empty())
    options.wish.recorded_capacity_bytes = base::parseSize(options.recorded_capacity);
  if (options.wish.fraction && !options.wish.capacity_bytes &&
      !options.wish.recorded_capacity_bytes)
    return usageError("--fraction is a share of the device memory, so it needs --capacity",
                      "Add it, e.g. --capacity 80GiB");
  if (options.wish.verify_only &&
      (options.wish.min_capacity || !options.wish.confs.empty() || !options.wish.edits.empty()))
    return usageError("--verify replays only the recorded settings",
                      "Omit --set, --drop, --halve, --free-at, --empty-cache and --min-capacity");
  if (options.wish.verify_only &&
      ((options.wish.capacity_bytes && !options.wish.fraction) || options.wish.driver_call_us))
    return usageError("--verify replays only on the recorded device",
                      "Omit --driver-call and --capacity; --recorded-capacity and "
                      "--recorded-fraction describe that device");
  for (std::string& conf : options.wish.confs) {
    // As printed, so that it can be copied.
    constexpr std::string_view kVariable = "PYTORCH_CUDA_ALLOC_CONF=";
    if (conf.starts_with(kVariable)) conf.erase(0, kVariable.size());
    std::erase_if(conf, [](char c) { return c == ' ' || c == '\t'; });
  }
  Opened opened = openTraces({options.file});
  for (const std::string& conf : options.wish.confs)
    if (auto refusal = refusalOf(conf, opened))
      return usageError("--set " + conf + ": " + refusal->what, refusal->hint);
  std::vector<WhatIfPart> parts;
  bool is_left_out = false;
  std::vector<std::pair<std::string, base::Error>> refused;
  for (const auto& trace : opened.traces) {
    WhatIfPart part{trace.get(), {}};
    for (const auto& device : trace->devices) {
      if (options.device && device->device.ordinal != *options.device) continue;
      if (!analysis::isReplayable(*device)) {
        is_left_out = true;
        complain(fmt::format(
            "tidegauge: {}: PyTorch's caching allocator does not manage this memory, so there is "
            "nothing to replay.",
            analysis::deviceLabel(device->device)));
        continue;
      }
      // Some 15 more replays: for a long recording only if the user asked for a search anyway.
      options.wish.with_fit =
          options.wish.min_capacity || device->totals.steps() <= analysis::kMaxProofSteps;
      options.wish.with_causes = true;
      auto stated = analysis::checkStated(
          *trace, *device, {options.wish.recorded_capacity_bytes, options.wish.recorded_fraction});
      if (!stated.ok()) {
        refused.emplace_back(analysis::deviceLabel(device->device), stated.error());
        continue;
      }
      ProgressBar bar("Replaying");
      options.wish.effort.progress = [&](size_t done, size_t of) {
        bar.show(done, of, [&] { return fmt::format("{} of {} settings", done, of); });
      };
      auto report = analysis::whatIf(*trace, *device, options.wish);
      bar.clear();
      if (!report.ok()) {  // not every device needs to have it
        refused.emplace_back(analysis::deviceLabel(device->device), report.error());
        continue;
      }
      part.devices.push_back({device.get(), std::move(report.value())});
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return opened.exit_code;
  bool is_empty =
      std::ranges::all_of(parts, [](const WhatIfPart& part) { return part.devices.empty(); });
  if (is_empty && !refused.empty()) return reportError(refused.front().second);
  for (const auto& [label, error] : refused)
    complain(fmt::format("tidegauge: {}: {}. {}", label, error.what, error.hint));
  if (is_empty && options.device && !is_left_out)
    return reportError(noSuchDevice(*options.device, opened.traces));
  if (options.json) return writeJson(parts, options.wish.verify_only, opened.exit_code);
  return writeText(parts, options.wish.verify_only, opened.exit_code);
}

}  // namespace

void addWhatIfCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WhatIfCommandOptions>();
  CLI::App* command = app.add_subcommand("whatif", "Replay the allocator under other settings");
  command
      ->add_option("FILE", options->file,
                   "Snapshot or recording; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("--set", options->wish.confs,
                   "PYTORCH_CUDA_ALLOC_CONF to try; repeatable (default: settings known to help)")
      ->take_all()
      ->expected(1)
      ->type_name("CONF");
  command
      ->add_option("--drop", options->drops,
                   "Replay without the allocations whose stack "
                   "contains this text or /regex/; repeatable")
      ->take_all()
      ->expected(1)
      ->type_name("STACK");
  command
      ->add_option("--halve", options->halves, "Replay with the matching allocations at half size")
      ->take_all()
      ->expected(1)
      ->type_name("STACK");
  command
      ->add_option(
          "--free-at", options->frees,
          "Replay with the matching live allocations freed at this step, or when the phase begins")
      ->take_all()
      ->expected(1)
      ->type_name("STACK STEP|PHASE");
  command
      ->add_option(
          "--empty-cache", options->flushes,
          "Replay with empty_cache() before this step, or when the phase begins; repeatable")
      ->take_all()
      ->expected(1)
      ->type_name("STEP|PHASE");
  command
      ->add_option("--capacity", options->capacity,
                   "Memory available to the process in the replays, e.g. 80GiB "
                   "(default: as recorded)")
      ->check(size(replay::kMiB, base::kMaxSizeBytes, "1 MiB to 1 PiB, with its unit, as in 80GiB"))
      ->type_name("SIZE");
  command
      ->add_option("--fraction", options->wish.fraction,
                   "Limit of set_per_process_memory_fraction in the replays, 0 to 1, of --capacity "
                   "(default: as recorded; with --capacity: none)")
      ->check(number(0, 1))
      ->type_name("F");
  command
      ->add_option("--recorded-capacity", options->recorded_capacity,
                   "Memory of the recorded device (default: inferred from the recording)")
      ->check(size(replay::kMiB, base::kMaxSizeBytes, "1 MiB to 1 PiB, with its unit, as in 80GiB"))
      ->type_name("SIZE");
  command
      ->add_option("--recorded-fraction", options->wish.recorded_fraction,
                   "Limit of set_per_process_memory_fraction in the recorded program "
                   "(default: inferred from the recording)")
      ->check(number(0, 1))
      ->type_name("F");
  command
      ->add_option(
          "--driver-call", options->wish.driver_call_us,
          "Time of one driver call in µs; the table then shows the total time of driver calls")
      ->check(number(0, 1e6))
      ->type_name("US");
  command->add_option("--device", options->device, "Only this device")->type_name("N");
  command->add_flag("--verify", options->wish.verify_only,
                    "Replay under the recorded settings only, and compare every event");
  command->add_flag("--min-capacity", options->wish.min_capacity,
                    "Find the smallest device memory with which no request fails, to within 2 MiB");
  command->add_flag("--json", options->json,
                    "Print exact numbers as JSON "
                    "(docs/explain/replay.md)");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
