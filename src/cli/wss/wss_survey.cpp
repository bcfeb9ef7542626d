#include "cli/wss/wss_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <random>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/wss/wss_common.h"
#include "wss/surveys/pmc.h"
#include "wss/surveys/pressure.h"
#include "wss/surveys/shrink.h"
#include "wss/surveys/spot.h"
#include "wss/words/json_text.h"

namespace tidegauge::cli {
namespace {

bool isOneOfThem(std::string_view backend) {
  return std::ranges::find(wss::kSurveys, backend) != wss::kSurveys.end();
}

// As `cat /proc/PID/cgroup` has it, or with the folder where they are.
base::Result<std::string> cgroupPath(std::string path) {
  constexpr std::string_view kFolder = "/sys/fs/cgroup";
  if (path == kFolder || path.starts_with(std::string(kFolder) + "/"))
    path.erase(0, kFolder.size());
  while (path.ends_with('/')) path.pop_back();
  if (!path.starts_with('/')) path.insert(0, "/");
  if ((path + "/").find("/../") != std::string::npos)
    return base::Error{base::ErrorKind::kUsage, "the path of a cgroup goes up by no ..",
                       std::nullopt, "Give it from /sys/fs/cgroup on"};
  return path;
}

using Made = base::Result<std::unique_ptr<wss::Survey>>;

template <class It>
Made made(base::Result<It> survey) {
  if (!survey.ok()) return survey.error();
  return Made(std::make_unique<It>(std::move(survey).value()));
}

Made makeSurvey(const WssOptions& options, const wss::Process* process) {
  if (options.backend == "pmc") return made(wss::Pmc::open(*process));
  if (options.backend == "spot")
    return Made(std::make_unique<wss::Spot>(*process, options.spots, std::random_device{}()));
  if (process != nullptr && options.backend == "pressure")
    return Made(std::make_unique<wss::Pressure>(*process, wss::MemoryScope::of(*process)));
  wss::MemoryScope scope =
      process != nullptr ? wss::MemoryScope::of(*process) : wss::MemoryScope::ofCgroup({});
  if (!options.cgroup.empty()) {
    TG_ASSIGN_OR_RETURN(std::string path, cgroupPath(options.cgroup));
    scope = wss::MemoryScope::ofCgroup(std::move(path));
  }
  return made(wss::Shrink::open(std::move(scope), options.most_pressure));
}

nlohmann::json headJson(const wss::Survey& survey, const wss::Process* process) {
  nlohmann::json head{
      {"backend", survey.name()}, {"how", survey.how()}, {"limits", survey.limits()}};
  if (process != nullptr) {
    head["pid"] = process->pid();
    head["process"] = process->name();
  }
  return head;
}

class Writer {
 public:
  Writer(const WssOptions& options, const wss::Survey& survey, const wss::Process* process)
      : options_(options), survey_(survey), head_(headJson(survey, process)) {
    if (!isText()) return;
    std::string whose =
        process == nullptr
            ? std::string()
            : fmt::format(" of {} (process {})", base::printable(process->name()), process->pid());
    say(fmt::format("{}{}: {}.", survey.name(), whose, survey.how()));
    std::string lasts = survey.lasts(nanosecondsOf(options.seconds));
    if (!lasts.empty()) say("It takes " + lasts + ".");
    for (const std::string& limit : survey.limits()) say("Careful: " + limit + ".");
  }
  void row(const wss::SurveyRow& row) {
    if (isText()) {
      if (rows_ == 0) out_.write(survey_.tableHead());
      out_.write(row.text);
      out_.flush();
    } else if (options_.jsonl) {
      nlohmann::json line = head_;
      line.update(row.fields);
      out_.print("{}\n", wss::jsonText(line, -1));
      out_.flush();
    } else {
      head_["rows"].push_back(row.fields);
    }
    rows_ += 1;
  }
  void end(const base::Status& status) {
    if (rows_ == 0) return;
    if (isText()) return say(survey_.verdict());
    if (options_.jsonl) {
      out_.print("{}\n", wss::jsonText({{"backend", survey_.name()},
                                        {"all", survey_.verdictJson()},
                                        {"ended", wss::endedJson(status)}},
                                       -1));
      return;
    }
    head_["all"] = survey_.verdictJson();
    head_["verdict"] = survey_.verdict();
    head_["ended"] = wss::endedJson(status);
    out_.print("{}\n", wss::jsonText(head_, 2));
  }
  void say(std::string words) {
    if (words.ends_with('\n')) words.pop_back();
    out_.write(base::wrapped(words, pageColumns(), 0, 2));
  }
  int rows() const { return rows_; }
  bool failed() const { return out_.failed(); }
  int finish(int code) { return out_.finish(code); }

 private:
  bool isText() const { return !options_.json && !options_.jsonl; }
  const WssOptions& options_;
  const wss::Survey& survey_;
  nlohmann::json head_;
  Output out_;
  int rows_ = 0;
};

// A window, or so many as were asked for; an experiment goes on until it has its answer.
base::Status measureAll(wss::Survey& survey, const WssOptions& options, RealClock& clock,
                        Writer& writer) {
  bool until_known = survey.name() == "shrink" || survey.name() == "spot";
  int64_t window_ns = nanosecondsOf(options.seconds), begin_ns = clock.now_ns();
  while (!writer.failed()) {
    TG_ASSIGN_OR_RETURN(auto row, survey.next(clock, window_ns));
    if (!row) break;
    writer.row(*row);
    bool goes_on = until_known || !options.pause.empty();
    bool is_over = options.total_s > 0 &&
                   static_cast<double>(clock.now_ns() - begin_ns) >= options.total_s * 1e9;
    if (!goes_on || is_over) break;
    if (!options.pause.empty()) clock.sleep(nanosecondsOf(options.pause));
    if (clock.isEnding()) break;
  }
  return base::okStatus();
}

}  // namespace

bool isSurvey(const WssOptions& options) { return isOneOfThem(options.backend); }

int checkSurvey(const WssOptions& options) {
  bool is_shrink = options.backend == "shrink";
  if (options.experiment && !is_shrink)
    return usageError("--experiment is for --backend shrink", "The others change nothing");
  if (!isSurvey(options)) return 0;
  if (is_shrink && !options.experiment)
    return usageError(
        "--backend shrink takes memory away from running programs, which then wait for it",
        "Say --experiment if that may be; --max-pressure limits how long they wait");
  bool is_course = options.cumulative || !options.steps.empty() || options.rolling > 0;
  bool is_list = !options.by.empty() || options.heat || !options.plot.empty();
  if (is_course || is_list || options.compat || options.csv || options.sample != "auto" ||
      options.more_times)
    return usageError(
        fmt::format("--backend {} takes -s, -d, --json and --jsonl, and looks at no pages",
                    options.backend),
        "Take --backend pte or smaps for the others");
  bool until_known = is_shrink || options.backend == "spot";
  if (until_known && !options.pause.empty())
    return usageError(fmt::format("--backend {} runs until it has its result", options.backend),
                      "-d ends it after some seconds");
  bool by_cgroup = is_shrink && !options.cgroup.empty();
  if (!options.comm.empty() || options.children || (!options.cgroup.empty() && !is_shrink) ||
      options.pids.size() != (by_cgroup ? 0 : 1))
    return usageError(
        is_shrink ? "--backend shrink is of one cgroup: give one process of it, or --cgroup PATH"
                  : fmt::format("--backend {} is of one process", options.backend),
        is_shrink ? "" : "Give one PID alone; of several take --backend pte or smaps");
  if (options.total_s > 0 && options.pause.empty() && !until_known)
    return usageError("-d requires a run of several windows", "Take -s beside it");
  return 0;
}

int runSurvey(const WssOptions& options) {
  std::unique_ptr<wss::Process> process;
  if (!options.pids.empty()) {
    auto opened = wss::Process::open(options.pids.front());
    if (!opened.ok()) return reportError(opened.error());
    process = std::make_unique<wss::Process>(std::move(opened).value());
  }
  auto survey = makeSurvey(options, process.get());
  if (!survey.ok()) return reportError(survey.error());
  RealClock clock;
  Writer writer(options, *survey.value(), process.get());
  if (options.dry_run) {
    writer.say("Nothing was measured, and nothing was changed.");
    return writer.finish(0);
  }
  auto status = measureAll(*survey.value(), options, clock, writer);
  writer.end(status);
  int code = status.ok() ? 0 : reportError(status.error());
  if (auto broken = survey.value()->broken(); code == 0 && broken) code = reportError(*broken);
  return writer.finish(endOfMeasurement(code, clock, writer.rows()));
}

}  // namespace tidegauge::cli
