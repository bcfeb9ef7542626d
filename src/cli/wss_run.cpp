#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/wss_command.h"
#include "wss/choose.h"
#include "wss/compat_text.h"
#include "wss/row_json.h"
#include "wss/row_text.h"

namespace tidegauge::cli {
namespace {

constexpr int kInterrupted = 128 + SIGINT;

int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Ctrl-C and the like end the sleep and with it the measurement: nothing is left half done.
class RealClock final : public wss::Clock {
 public:
  RealClock() {
    sigset_t ends;
    sigemptyset(&ends);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    signals_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~RealClock() override {
    if (signals_ >= 0) close(signals_);
  }
  RealClock(const RealClock&) = delete;
  RealClock& operator=(const RealClock&) = delete;

  int64_t now_ns() override { return nanoseconds(CLOCK_MONOTONIC); }
  int64_t cpu_ns() override { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }
  void sleep(int64_t ns) override {
    int64_t end_ns = now_ns() + ns;
    for (int64_t left = ns; left > 0 && !is_ending_; left = end_ns - now_ns()) {
      timespec time{left / 1'000'000'000, left % 1'000'000'000};
      pollfd news{signals_, POLLIN, 0};
      is_ending_ = ppoll(&news, 1, &time, nullptr) > 0;
    }
  }
  bool isEnding() const override { return is_ending_; }

 private:
  int signals_ = -1;
  bool is_ending_ = false;
};

int64_t nanosecondsOf(double seconds) { return std::llround(seconds * 1e9); }
// Checked to be a number before.
int64_t nanosecondsOf(const std::string& text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return nanosecondsOf(seconds);
}

wss::Plan planOf(const WssOptions& options) {
  wss::Plan plan;
  plan.duration_ns = nanosecondsOf(options.seconds);
  if (options.cumulative) plan.course = wss::Course::kCumulative;
  if (!options.pause.empty()) {
    plan.course = wss::Course::kSnapshots;
    plan.pause_ns = nanosecondsOf(options.pause);
  }
  if (!options.steps.empty()) {
    plan.course = wss::Course::kProfile;
    std::from_chars(options.steps.data(), options.steps.data() + options.steps.size(), plan.steps);
  }
  if (options.total_s > 0) plan.total_ns = nanosecondsOf(options.total_s);
  return plan;
}

// Writes each row as the user wants it.
class Writer {
 public:
  Writer(const WssOptions& options, const wss::Plan& plan, const wss::Process& process,
         const wss::Choice& choice, Output& out)
      : options_(options), plan_(plan), out_(out) {
    const wss::Backend& backend = *choice.backend;
    text_ = {options.more_times, backend.knowsSharing(), choice.is_sampled, pageColumns()};
    std::string pid = fmt::format("{}", options.pid);
    if (options.compat)
      out_.write(wss::compatHeader(plan, {pid, options.seconds, options.pause, options.steps},
                                   options.more_times));
    else if (options.csv)
      out_.write(wss::csvHeader());
    else if (!options.json && !options.jsonl)
      writeHead(process, choice);
    head_ = {{"pid", options.pid},   {"process", process.name()}, {"backend", backend.name()},
             {"how", backend.how()}, {"why", choice.why},         {"limits", backend.limits()}};
    if (!backend.cgroup().empty()) head_["cgroup"] = backend.cgroup();
    out_.flush();  // who waits for the first row sees what it waits for
  }

  bool row(const wss::Row& row) {
    double unix_s = static_cast<double>(nanoseconds(CLOCK_REALTIME)) * 1e-9;
    rows_ += 1;
    if (options_.compat) {
      out_.write(wss::compatRow(row, options_.more_times));
    } else if (options_.csv) {
      out_.write(wss::csvRow(row, unix_s, text_.knows_sharing));
    } else if (options_.json || options_.jsonl) {
      nlohmann::json json = wss::rowJson(row, plan_, unix_s, groups(row), text_.knows_sharing);
      if (options_.json) {
        all_.push_back(std::move(json));
      } else {
        json.update(head_);
        out_.print("{}\n", dumped(json, -1));
      }
    } else {
      writeText(row);
    }
    out_.flush();
    return !out_.failed();
  }

  void end() {
    if (!options_.json) return;
    nlohmann::json json = head_;
    json["rows"] = std::move(all_);
    out_.print("{}\n", dumped(json, 2));
  }
  int rows() const { return rows_; }

 private:
  // Names may hold any bytes.
  static std::string dumped(const nlohmann::json& json, int indent) {
    return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  std::vector<wss::Group> groups(const wss::Row& row) const {
    if (options_.by.empty()) return {};
    return wss::groupsOf(row, grouping());
  }
  wss::Grouping grouping() const {
    if (options_.by == "vma") return wss::Grouping::kMapping;
    return options_.by == "file" ? wss::Grouping::kFile : wss::Grouping::kKind;
  }

  void writeHead(const wss::Process& process, const wss::Choice& choice) {
    const wss::Backend& backend = *choice.backend;
    std::string who =
        fmt::format("{} (process {})", base::printable(process.name()), process.pid());
    if (std::string cgroup = backend.cgroup(); !cgroup.empty())
      who = fmt::format("all in cgroup {}, with {}", base::printable(cgroup), who);
    out_.write(
        base::wrapped(fmt::format("Touched by {}, by {}: {}.", who, backend.name(), backend.how()),
                      text_.columns, 0));
    if (!choice.why.empty())
      out_.write(base::wrapped("Note: " + choice.why + ".", text_.columns, 0, 2));
    for (const std::string& limit : backend.limits())
      out_.write(base::wrapped("Careful: " + limit + ".", text_.columns, 0, 2));
    out_.write(wss::rowHeader(text_));
  }

  void writeText(const wss::Row& row) {
    out_.write(wss::rowText(row, text_));
    if (plan_.course == wss::Course::kSingle) out_.write(wss::rowNotes(row, text_));
    if (options_.by.empty()) return;
    out_.write("\n");
    out_.write(wss::groupsText(groups(row), grouping(), options_.top, text_));
    if (plan_.course != wss::Course::kSingle) out_.write("\n" + wss::rowHeader(text_));
  }

  const WssOptions& options_;
  const wss::Plan& plan_;
  Output& out_;
  wss::TextOptions text_;
  nlohmann::json head_, all_ = nlohmann::json::array();
  int rows_ = 0;
};

}  // namespace

int runWss(const WssOptions& options) {
  wss::Plan plan = planOf(options);
  RealClock clock;
  auto process = wss::Process::open(options.pid);
  if (!process.ok()) return reportError(process.error());
  auto choice = wss::chooseBackend(
      {options.backend, options.sample, options.compat, options.most_stall_ms, plan.duration_ns},
      process.value());
  if (!choice.ok()) return reportError(choice.error());
  wss::Backend& backend = *choice.value().backend;
  Output out;
  Writer writer(options, plan, process.value(), choice.value(), out);
  auto status = wss::measure(process.value(), backend, plan, clock,
                             [&](const wss::Row& row) { return writer.row(row); });
  writer.end();
  int code = status.ok() ? 0 : reportError(status.error());
  if (code == 0 && clock.isEnding() && writer.rows() == 0) {
    complain("tidegauge: ended before the first window was over: nothing was measured");
    code = kInterrupted;
  }
  return out.finish(code);
}

}  // namespace tidegauge::cli
