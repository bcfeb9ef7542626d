// The replay against PyTorch itself: the snapshots in shared/data/oracle, which its allocator wrote
// for the same requests under several settings, each with its memory_stats().
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/what_if/proven_program.h"
#include "analysis/what_if/what_if.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "replay/verify.h"
#include "replay/what_if.h"
#include "replay/written_trace.h"

namespace tidegauge::replay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The allocator does not know these, or no trace contains them.
bool isTold(const std::string& key) {
  return key != "max_split_size" && key != "num_oom_rejections";
}

json named(const Stats& stats, const model::Trace& trace) {
  json all;
  auto put = [&](const std::string& key, const Stat& stat) {
    all[key + ".current"] = stat.current;
    all[key + ".peak"] = stat.peak;
    all[key + ".allocated"] = stat.allocated;
    all[key + ".freed"] = stat.freed;
  };
  auto putKinds = [&](const std::string& key, const StatOfKinds& kinds) {
    put(key + ".all", kinds.all);
    put(key + ".small_pool", kinds.small);
    put(key + ".large_pool", kinds.large);
  };
  for (size_t i = 0; i < stats.of.size(); ++i)
    putKinds(std::string(name(static_cast<Quantity>(i))), stats.of[i]);
  for (size_t i = 1; i < stats.reserved_of_owner.size(); ++i)
    putKinds("reserved_bytes_by_private_pools." + std::to_string(trace.pools[i].first) + "_" +
                 std::to_string(trace.pools[i].second),
             stats.reserved_of_owner[i]);
  put("oversize_allocations", stats.oversize_allocations);
  put("oversize_segments", stats.oversize_segments);
  all["num_alloc_retries"] = stats.retries;
  all["num_ooms"] = stats.ooms;
  all["num_sync_all_streams"] = stats.syncs;
  all["num_device_alloc"] = stats.driver_allocs;
  all["num_device_free"] = stats.driver_frees;
  return all;
}

struct Recorded {
  model::Trace trace;
  json info;
  VerifyOptions options;
  Verification verified;
};

std::vector<std::string> differences(const Stats& stats, const Recorded& real,
                                     const model::Trace& names) {
  json mine = named(stats, names);
  std::vector<std::string> found;
  for (const auto& [key, value] : real.info["memory_stats"].items()) {
    if (!isTold(key)) continue;
    int64_t ours = mine.value(key, int64_t{0});
    if (ours != value.get<int64_t>())
      found.push_back(key + " " + std::to_string(ours) + ", PyTorch " + value.dump());
  }
  return found;
}

// "B_train_varlen" → "gc80" → the run.
using Runs = std::map<std::string, std::map<std::string, Recorded>>;

// Completions that eight flushes forced hide when the streams were really done: one segment of
// 2 MiB more or less.
bool isHidden(const std::string& folder, const std::string& workload, const std::string& recorded,
              const std::string& asked) {
  return folder == "torch24" && workload == "D_multistream" && recorded == "tight" &&
         asked != "tight";
}

class ReplayOracle : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("TIDEGAUGE_SHARED");
    fs::path folder = fs::path(shared == nullptr ? "" : shared) / "data" / "oracle" / GetParam();
    if (shared == nullptr || !fs::exists(folder))
      GTEST_SKIP() << "no oracle: TIDEGAUGE_SHARED names the folder that has data/oracle";
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::string path = entry.path().string(), file = entry.path().filename().string();
      size_t between = file.find("__"), end = file.find(".pickle");
      if (between == std::string::npos || end == std::string::npos) continue;
      Recorded& run = runs_[file.substr(0, between)][file.substr(between + 2, end - between - 2)];
      auto opened = readers::torch::openSnapshots(path, {});
      ASSERT_TRUE(opened.ok()) << path;
      run.trace = std::move(opened.value().front());
      std::ifstream(path.substr(0, path.find(".pickle")) + ".json") >> run.info;
      auto settings = parseConf(run.info["alloc_conf"].get<std::string>());
      ASSERT_TRUE(settings.ok()) << path;
      run.options.settings = settings.value();
      if (run.info["memory_fraction"].is_number())
        run.options.settings.fraction = run.info["memory_fraction"].get<double>();
      // Any explicit fraction arms the collection there.
      if (run.info["torch"].get<std::string>().starts_with("2.4")) {
        run.options.settings.gc_needs_fraction_below_1 = false;
        run.options.settings.private_pools_expandable = false;
      }
      run.options.capacity_bytes = run.info["capacity"].get<uint64_t>();
      run.verified = verify(run.trace, run.trace.devices[0], run.options);
    }
    ASSERT_FALSE(runs_.empty());
  }

  static Settings asThere(const Recorded& real) {
    Settings settings = real.options.settings;
    if (real.info["torch"].get<std::string>().starts_with("2.4")) settings.tie = TieBreak::kAddress;
    return settings;
  }

  Runs runs_;
};

TEST_P(ReplayOracle, EveryEventEveryBlockAndEveryStatisticIsPyTorchs) {
  for (const auto& [workload, settings] : runs_)
    for (const auto& [setting, run] : settings) {
      SCOPED_TRACE(workload + " " + setting);
      EXPECT_EQ(run.verified.events_exact, run.trace.devices[0].steps());
      EXPECT_EQ(run.verified.events_checked, run.trace.devices[0].steps());
      EXPECT_FALSE(run.verified.first_divergence);
      EXPECT_EQ(run.verified.final_differences, 0U);
      EXPECT_EQ(differences(run.verified.stats, run, run.trace), std::vector<std::string>{});
    }
}

// Without the capacity, which is not in the file.
TEST_P(ReplayOracle, TheTraceAloneIsEnough) {
  for (const auto& [workload, settings] : runs_)
    for (const auto& [setting, run] : settings) {
      SCOPED_TRACE(workload + " " + setting);
      if (run.options.settings.fraction) continue;  // of a capacity
      auto verified = verify(run.trace, run.trace.devices[0], {run.options.settings, {}});
      EXPECT_EQ(verified.events_exact, run.trace.devices[0].steps());
      EXPECT_EQ(verified.final_differences, 0U);
    }
}

// … and without the memory fraction: its effects show it.
TEST_P(ReplayOracle, ALimitThatTheFileDoesNotContainIsInferred) {
  size_t found = 0;
  for (auto& [workload, settings] : runs_)
    for (auto& [setting, run] : settings) {
      SCOPED_TRACE(workload + " " + setting);
      analysis::AnalysedTrace analysed(std::move(run.trace));
      analysis::WhatIfWish wish;
      wish.verify_only = setting != "tight";
      auto report = analysis::whatIf(analysed, *analysed.devices.front(), wish);
      ASSERT_TRUE(report.ok());
      if (workload == "A_train_fixed" && setting == "tight") {
        // PyTorch itself gets through under that limit with expandable segments.
        ASSERT_TRUE(report.value().helps_from);
        EXPECT_EQ(report.value().helps_from->conf, "expandable_segments:True");
        EXPECT_LE(report.value().helps_from->limit_bytes,
                  run.options.settings.capBytes(*run.options.capacity_bytes));
      }
      const Verification& verified = report.value().verified;
      EXPECT_EQ(verified.events_exact, analysed.devices.front()->device.steps());
      EXPECT_EQ(verified.final_differences, 0U);
      if (!report.value().limit_bytes) continue;
      ++found;
      ASSERT_TRUE(run.options.settings.fraction);  // no limit is reported where there was none
      EXPECT_LE(*report.value().limit_bytes,
                run.options.settings.capBytes(*run.options.capacity_bytes));
    }
  EXPECT_GT(found, 0U);
}

// A fraction in the settings refers to a device of unknown size, not to what this process had.
TEST_P(ReplayOracle, AKnownFractionIsNotAppliedTwice) {
  size_t limited = 0;
  for (auto& [workload, settings] : runs_)
    for (auto& [setting, run] : settings) {
      if (setting != "tight" && setting != "gc80") continue;
      SCOPED_TRACE(workload + " " + setting);
      std::string& conf = run.trace.settings.conf;
      conf += (conf.empty() ? "" : ",") + std::string("per_process_memory_fraction:0.5");
      analysis::AnalysedTrace analysed(std::move(run.trace));
      auto report = analysis::whatIf(analysed, *analysed.devices.front(), {});
      ASSERT_TRUE(report.ok());
      const analysis::WhatIf& it = report.value();
      EXPECT_TRUE(it.ownIsAsRecorded());
      if (!it.capacity_bytes && !it.limit_bytes && !it.device_bytes) continue;
      ++limited;
    }
  EXPECT_GT(limited, 3U);
}

TEST_P(ReplayOracle, AskedForOtherSettingsItSaysWhatPyTorchMeasuredThere) {
  size_t pairs = 0;
  for (const auto& [workload, settings] : runs_)
    for (const auto& [recorded, from] : settings)
      for (const auto& [asked, real] : settings) {
        if (from.info["request_sha1"] != real.info["request_sha1"]) continue;
        SCOPED_TRACE(workload + ", recorded under " + recorded + ", asked for " + asked);
        Tape tape(from.trace, from.trace.devices[0]);
        WhatIfOptions options;
        options.settings = asThere(real);
        options.capacity_bytes = real.options.capacity_bytes;
        Outcome outcome = whatIf(tape, from.verified.program, options);
        EXPECT_FALSE(outcome.forecast_from);
        if (isHidden(GetParam(), workload, recorded, asked)) {
          auto peak = static_cast<double>(
              real.info["memory_stats"]["reserved_bytes.all.peak"].get<int64_t>());
          EXPECT_NEAR(static_cast<double>(outcome.stats[Quantity::kReservedBytes].all.peak), peak,
                      0.0025 * peak);
          continue;
        }
        ++pairs;
        EXPECT_EQ(differences(outcome.stats, real, from.trace), std::vector<std::string>{});
        EXPECT_EQ(finalDifferences(Tape(real.trace, real.trace.devices[0]), outcome.end), 0U);
        if (options.settings.tie == TieBreak::kAddress) continue;
        options.placement = Placement::kRising;  // no figure depends on it
        EXPECT_EQ(differences(whatIf(tape, from.verified.program, options).stats, real, from.trace),
                  std::vector<std::string>{});
      }
  EXPECT_GT(pairs, 80U);
}

// … if the file alone says under which limit it was recorded, and if the user does.
TEST_P(ReplayOracle, WhatThePairsAnswerDoesNotDependOnWhoKnowsTheLimit) {
  size_t pairs = 0, inferred = 0;
  for (auto& [workload, settings] : runs_) {
    std::map<std::string, std::unique_ptr<analysis::AnalysedTrace>> analysed;
    for (auto& [setting, run] : settings)
      analysed[setting] = std::make_unique<analysis::AnalysedTrace>(std::move(run.trace));
    for (const auto& [recorded, from] : settings)
      for (bool is_given : {false, true}) {
        analysis::WhatIfWish wish;
        if (is_given) wish.recorded_capacity_bytes = from.options.capacity_bytes;
        if (is_given) wish.recorded_fraction = from.options.settings.fraction;
        const analysis::AnalysedTrace& trace = *analysed[recorded];
        analysis::ProvenProgram proven(trace, *trace.devices.front(), wish);
        SCOPED_TRACE(workload + ", recorded under " + recorded + (is_given ? ", given" : ""));
        EXPECT_EQ(proven.report().verified.events_exact, trace.devices.front()->device.steps());
        inferred += proven.report().limit_bytes.has_value();
        for (const auto& [asked, real] : settings) {
          if (from.info["request_sha1"] != real.info["request_sha1"] ||
              isHidden(GetParam(), workload, recorded, asked))
            continue;
          SCOPED_TRACE("asked for " + asked);
          WhatIfOptions options;
          options.settings = asThere(real);
          options.capacity_bytes = real.options.capacity_bytes;
          Outcome outcome = whatIf(proven.tape(), proven.program(), options);
          ++pairs;
          EXPECT_EQ(differences(outcome.stats, real, trace.trace), std::vector<std::string>{});
        }
      }
  }
  EXPECT_GT(pairs, 160U);
  EXPECT_GT(inferred, 4U);
}

// The options as a user combines them: the device of the recording, and the device asked about.
TEST_P(ReplayOracle, RecordedAndAskedDevicesAreTwo) {
  auto workload = runs_.find(runs_.contains("C_llm_serving") ? "C_llm_serving" : "A_train_fixed");
  ASSERT_NE(workload, runs_.end());
  size_t pairs = 0;
  for (auto& [recorded, from] : workload->second) {
    analysis::AnalysedTrace analysed(std::move(from.trace));
    for (const auto& [asked, real] : workload->second) {
      if (asked == recorded || from.info["request_sha1"] != real.info["request_sha1"]) continue;
      SCOPED_TRACE("recorded under " + recorded + ", asked for " + asked);
      analysis::WhatIfWish wish;
      wish.recorded_capacity_bytes = from.options.capacity_bytes;
      wish.recorded_fraction = from.options.settings.fraction;
      wish.capacity_bytes = real.options.capacity_bytes;
      wish.fraction = real.options.settings.fraction;
      wish.confs = {real.info["alloc_conf"].get<std::string>()};
      auto report = analysis::whatIf(analysed, *analysed.devices.front(), wish);
      ASSERT_TRUE(report.ok());
      const analysis::WhatIf& it = report.value();
      EXPECT_FALSE(it.verified.first_divergence);
      ASSERT_EQ(it.candidates.size(), 1U);
      ++pairs;
      EXPECT_EQ(differences(it.candidates[0].stats, real, analysed.trace),
                std::vector<std::string>{});
    }
  }
  EXPECT_EQ(pairs, workload->first == "C_llm_serving" ? 42U : 30U);
}

// Event by event: a trace of it would contain what PyTorch's own trace under those settings
// contains. A trace lacks two things: when streams were really done whose completions a flush had
// forced (D under tight), and the unrounded size of a request that failed (from roundup on, F under
// combo).
TEST_P(ReplayOracle, WhatIsWrittenIsWhatPyTorchWrote) {
  auto rows = [](const model::Trace& trace, bool are_failures_rounded) {
    std::vector<std::string> rows;
    Tape tape(trace, trace.devices[0]);
    for (model::Step step = 0; step < tape.steps(); ++step) {
      model::Action action = tape.action(step);
      if (action == model::Action::kSnapshot) continue;
      bool is_rounded = action == model::Action::kOom && are_failures_rounded;
      rows.push_back(fmt::format("{} {} {} {} {}", static_cast<int>(action), tape.address(step),
                                 is_rounded ? 0 : tape.bytes(step), tape.stream(step),
                                 tape.owner(step)));
    }
    return rows;
  };
  auto liveBytes = [](const model::Trace& trace, model::Step step) {
    uint64_t bytes = 0;
    const model::Allocations& all = trace.allocations;
    for (size_t row = 0; row < all.size(); ++row)
      if (all.first_step[row] <= step && step < all.last_step[row]) bytes += all.block_bytes[row];
    return bytes;
  };
  size_t pairs = 0;
  for (const auto& [workload, settings] : runs_)
    for (const auto& [recorded, from] : settings)
      for (const auto& [asked, real] : settings) {
        bool is_hidden = workload == "D_multistream" && recorded == "tight" && asked != recorded;
        if (from.info["request_sha1"] != real.info["request_sha1"] || is_hidden) continue;
        SCOPED_TRACE(workload + ", recorded under " + recorded + ", asked for " + asked);
        Tape tape(from.trace, from.trace.devices[0]);
        WhatIfOptions options;
        options.settings = asThere(real);
        options.capacity_bytes = real.options.capacity_bytes;
        model::Trace made =
            writtenTrace(tape, from.verified.program, options, confOf(options.settings)).trace;
        ++pairs;
        bool is_rounded = std::ranges::any_of(from.options.settings.roundup_divisions,
                                              [](uint32_t divisions) { return divisions > 0; });
        std::vector<std::string> ours = rows(made, is_rounded),
                                 theirs = rows(real.trace, is_rounded);
        ASSERT_EQ(ours.size(), theirs.size());
        EXPECT_EQ(std::ranges::mismatch(ours, theirs).in1 - ours.begin(),
                  static_cast<ptrdiff_t>(ours.size()));
        EXPECT_EQ(made.issues.all().size(), 1U);  // that it is a replay
        EXPECT_EQ(made.allocations.size(), real.trace.allocations.size());
        EXPECT_EQ(made.segments.size(), real.trace.segments.size());
        EXPECT_EQ(made.final_blocks.size_bytes, real.trace.final_blocks.size_bytes);
        EXPECT_EQ(made.final_blocks.state, real.trace.final_blocks.state);
        EXPECT_EQ(liveBytes(made, made.devices[0].steps() / 2),
                  liveBytes(real.trace, made.devices[0].steps() / 2));
      }
  EXPECT_GT(pairs, 80U);
}

// The course of a program changes at an out of memory, but the first one is predicted.
TEST_P(ReplayOracle, TheFirstRequestThatFailsIsTheSame) {
  auto requestsBefore = [](const model::Trace& trace, model::Step end) {
    size_t count = 0;
    for (size_t i = 0; i < end; ++i) {
      model::Action action = trace.events.action[trace.devices[0].event_begin + i];
      count += action == model::Action::kAlloc || action == model::Action::kOom;
    }
    return count;
  };
  auto firstOom = [](const model::Trace& trace) {
    for (model::Step step = 0; step < trace.devices[0].steps(); ++step)
      if (trace.events.action[trace.devices[0].event_begin + step] == model::Action::kOom)
        return std::optional(step);
    return std::optional<model::Step>();
  };
  size_t seen = 0;
  for (const auto& [workload, settings] : runs_)
    for (const auto& [recorded, from] : settings)
      for (const auto& [asked, real] : settings) {
        auto failed = firstOom(real.trace), own = firstOom(from.trace);
        if (!failed) continue;
        size_t wanted = requestsBefore(real.trace, *failed);
        if (own && requestsBefore(from.trace, *own) < wanted) continue;  // it never got there
        SCOPED_TRACE(workload + ", recorded under " + recorded + ", asked for " + asked);
        Tape tape(from.trace, from.trace.devices[0]);
        WhatIfOptions options;
        options.settings = asThere(real);
        options.capacity_bytes = real.options.capacity_bytes;
        Outcome outcome = whatIf(tape, from.verified.program, options);
        ASSERT_FALSE(outcome.failures.empty());
        EXPECT_EQ(requestsBefore(from.trace, outcome.failures.front().step), wanted);
        ++seen;
      }
  EXPECT_GT(seen, 10U);
}

// From the first request with another outcome on, it is a forecast; whatif states its error.
TEST_P(ReplayOracle, AForecastHasItsStatedError) {
  size_t forecasts = 0, same_failures = 0;
  for (const auto& [workload, settings] : runs_)
    for (const auto& [recorded, from] : settings)
      for (const auto& [asked, real] : settings) {
        if (from.info["request_sha1"] == real.info["request_sha1"]) continue;
        SCOPED_TRACE(workload + ", recorded under " + recorded + ", asked for " + asked);
        Tape tape(from.trace, from.trace.devices[0]);
        WhatIfOptions options;
        options.settings = asThere(real);
        options.capacity_bytes = real.options.capacity_bytes;
        Outcome outcome = whatIf(tape, from.verified.program, options);
        if (!outcome.forecast_from) continue;
        ++forecasts;
        const json& stats = real.info["memory_stats"];
        same_failures += outcome.stats.ooms == stats["num_ooms"].get<uint64_t>();
        auto ours = static_cast<double>(outcome.stats[Quantity::kReservedBytes].all.peak);
        auto theirs = static_cast<double>(stats["reserved_bytes.all.peak"].get<int64_t>());
        EXPECT_LE(std::abs(ours - theirs), 0.13 * theirs);
      }
  EXPECT_GT(forecasts, 30U);
  EXPECT_LT(same_failures, forecasts / 2);  // "in most of them another number of requests failed"
}

INSTANTIATE_TEST_SUITE_P(Torch, ReplayOracle, ::testing::Values("", "torch24"),
                         [](const auto& info) {
                           return std::string(info.param).empty() ? "Torch215" : "Torch24";
                         });

// ---- recordings of others: how much of each is proven -------------------------------------------

struct Share {
  const char* file;
  double least;
};

class ReplayOfReal : public ::testing::TestWithParam<Share> {};

TEST_P(ReplayOfReal, IsProvenAsFarAsItCanBe) {
  const char* shared = std::getenv("TIDEGAUGE_SHARED");
  fs::path path =
      fs::path(shared == nullptr ? "" : shared) / "data" / "snapshots" / GetParam().file;
  if (shared == nullptr || !fs::exists(path))
    GTEST_SKIP() << "no real snapshots: TIDEGAUGE_SHARED names the folder that has them";
  auto opened = readers::torch::openSnapshots(path.string(), {});
  ASSERT_TRUE(opened.ok());
  const model::Trace& trace = opened.value().front();
  for (const model::Device& device : trace.devices) {
    if (device.steps() == 0) continue;
    auto verified = verify(trace, device, {settingsOf(trace), {}});
    ASSERT_GT(verified.events_checked, 0U);
    EXPECT_GE(static_cast<double>(verified.events_exact),
              GetParam().least * static_cast<double>(verified.events_checked))
        << "device " << device.ordinal;
    EXPECT_EQ(verified.first_divergence.has_value(),
              verified.events_exact < verified.events_checked);
    // Whatever differs in between, the final state is the file's.
    EXPECT_EQ(verified.final_differences, 0U) << "device " << device.ordinal;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, ReplayOfReal,
    ::testing::Values(Share{"tiny-complete.pickle.zst", 1},
                      Share{"three-gpus-expandable-oom.pickle.zst", 1},
                      Share{"compile-cached-unused.pickle.zst", 1},
                      Share{"fsdp-oom-rank0.pickle.zst", 1}, Share{"fsdp-oom-rank1.pickle.zst", 1},
                      Share{"ten-streams-torch21.pickle.zst", 1},
                      Share{"snapshots-inside-trace-torch22.pickle.zst", 1},
                      // it is unknown which of two older segments came first
                      Share{"training-midrun-torch211.pickle.zst", 0.999},
                      // its memory is older than its recording: blocks that look free were not
                      Share{"npu-expandable-empty-cache.pickle.zst", 0.68}),
    [](const auto& info) {
      std::string name = info.param.file;
      name = name.substr(0, name.find('.'));
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace tidegauge::replay
