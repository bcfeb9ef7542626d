#include "cli/open_trace.h"

#include <fmt/format.h>

#include <ctime>
#include <functional>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/file_kind.h"
#include "cli/options/output.h"
#include "cli/options/progress_bar.h"
#include "cli/options/usage.h"
#include "readers/recording/open_recording.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "report/recording/damage.h"

namespace tidegauge::cli {
namespace {

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// The time of all threads, because several may join what was read.
double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

base::Result<std::vector<model::Trace>> readFile(const std::string& path, FileKind kind,
                                                 const OpenOptions& wanted,
                                                 const Progress& progress,
                                                 OpenedRecording& recording) {
  if (kind == FileKind::kRecording && wanted.follows && readers::recording::hasWriter(path)) {
    using readers::recording::GrowingRecording;
    recording.reader = std::make_shared<GrowingRecording>(
        path, GrowingRecording::Wanted{.is_followed = true, .takes_back = true});
    return recording.reader->read(progress);
  }
  if (kind == FileKind::kRecording)
    return readers::recording::openRecording(path, {progress, wanted.driver_memory});
  if (kind == FileKind::kWorkingSet)
    return base::Error{base::ErrorKind::kUnreadable,
                       "this is a measurement of a working set of host memory, not of GPU memory",
                       std::nullopt, "Open it with `tidegauge wss FILE` or `tidegauge view FILE`."};
  readers::torch::ReadOptions options;
  options.progress = progress;
  if (OpeningListener* listener = wanted.listener; listener != nullptr) {
    options.take_chunk = [listener](const auto& chunk) { listener->readEvents(chunk); };
    options.forget_chunks = [listener] { listener->forgetEvents(); };
  }
  options.lives = wanted.lives;
  options.short_of_memory = [&path](uint64_t need_bytes, uint64_t free_bytes) {
    complain(
        fmt::format("tidegauge: {}: reading it may take {} of memory beside the file, and {} are "
                    "free. If the system ends it, use a machine or a container with more.",
                    base::printable(shownPath(path)), base::humanBytes(need_bytes),
                    base::humanBytes(free_bytes)));
  };
  return readers::torch::openSnapshots(path, options);
}

void tell(OpeningListener* listener, ProgressBar& bar, uint64_t done, uint64_t total) {
  if (listener == nullptr) return;
  listener->readBytes(done, total);
  if (!listener->wantsToPrint()) return;
  bar.clear();
  listener->print();
}

}  // namespace

Opened openTraces(const std::vector<std::string>& paths, const OpenOptions& options) {
  Opened opened;
  for (const std::string& path : paths) {
    ProgressBar bar("Reading " + path.substr(path.find_last_of('/') + 1));
    double begin_s = processorSeconds();
    FileKind kind = kindOf(path);
    bool is_recording = kind == FileKind::kRecording;
    OpenedRecording recording{path, {}, 0, opened.traces.size(), 0, nullptr};
    if (is_recording) recording.stamp = readers::recording::stampOf(path);
    if (options.listener != nullptr) options.listener->readFile(path);
    auto progress = [&](uint64_t done, uint64_t total) {
      tell(options.listener, bar, done, total);
      bar.show(done, total, [&] {
        return fmt::format("{} of {}", base::humanBytes(done), base::humanBytes(total));
      });
    };
    auto read = readFile(path, kind, options, progress, recording);
    if (!read.ok()) {
      bar.clear();
      base::Error error = read.error();
      error.what = fmt::format("{}: {}", shownPath(path), error.what);
      int exit_code = reportError(error);
      if (opened.exit_code == 0) opened.exit_code = exit_code;
      opened.failed.push_back({path, std::move(read.error())});
      continue;
    }
    for (model::Trace& trace : read.value()) {
      std::string& name = trace.source.name;  // for a member of an archive: without the archive
      // A part of the file itself has its name already.
      bool is_part = name.starts_with(path + "/") && path != "-";
      if (path != "-" && name != path && !is_part) name.insert(0, path + "/");
      opened.traces.push_back(
          options.lives || is_recording
              ? std::make_unique<analysis::AnalysedTrace>(std::move(trace), options.rules)
              : std::make_unique<analysis::AnalysedTrace>(std::move(trace),
                                                          analysis::EventsAlone()));
    }
    recording.end = opened.traces.size();
    const model::Trace& last = opened.traces.back()->trace;
    std::string damage = is_recording ? report::damageOf(last, shownPath(path))
                                      : report::unreadMembersOf(last, shownPath(path));
    if (!damage.empty()) {
      bar.clear();
      complain("tidegauge: " + base::printable(damage));
      if (opened.exit_code == 0) opened.exit_code = kNotRead;
    }
    if (!is_recording) continue;
    recording.read_s = processorSeconds() - begin_s;
    opened.recordings.push_back(std::move(recording));
  }
  return opened;
}

std::string whatAndWhere(const base::Error& error) {
  if (error.byte_offset.value_or(0) == 0) return error.what;  // byte 0 is no help
  return fmt::format("{} (at byte {})", error.what, base::withCommas(*error.byte_offset));
}

int reportError(const base::Error& error) {
  std::string text = whatAndWhere(error) + '.';
  bool is_sentence = error.hint.empty() || error.hint.ends_with('.') || error.hint.ends_with('?');
  if (!error.hint.empty()) text += " " + error.hint + (is_sentence ? "" : ".");
  complain("tidegauge: " + base::printable(text));
  switch (error.kind) {
    case base::ErrorKind::kUsage:
      return 2;
    case base::ErrorKind::kMissingFeature:
      return 4;
    default:
      return kNotRead;
  }
}

}  // namespace tidegauge::cli
