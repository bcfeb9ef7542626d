#include "readers/torch/unpack/open_snapshots.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/file_bytes.h"
#include "base/memory/memory.h"
#include "base/threads/parallel.h"
#include "model/lives/lives.h"
#include "model/lives/recording_issues.h"
#include "model/tensors/join_tensors.h"
#include "readers/torch/unpack/lives_while_reading.h"
#include "readers/torch/unpack/memory_need.h"
#include "readers/torch/unpack/unpack.h"

namespace tidegauge::readers::torch {

namespace {

// Smaller inputs are read before a thread has started.
constexpr uint64_t kLongInput = 4 << 20;

// Joins events into lives while they are read, if that is worth it.
base::Result<std::vector<model::Trace>> readAndJoin(const Unpacked& item,
                                                    const ReadOptions& options,
                                                    model::StartedDevices& started) {
  bool joins = options.lives && item.bytes.size() >= kLongInput && base::processors() > 1;
  if (!joins) return readSnapshots(item.bytes, item.name, options);
  LivesWhileReading lives(item.bytes.size());
  ReadOptions with_lives = options;
  with_lives.take_chunk = [&](EventChunk& chunk) {
    if (options.take_chunk) options.take_chunk(chunk);
    lives.take(std::move(chunk));
  };
  with_lives.forget_chunks = [&] {
    if (options.forget_chunks) options.forget_chunks();
    lives.forget();
  };
  base::Result<std::vector<model::Trace>> found = readSnapshots(item.bytes, item.name, with_lives);
  started = lives.finish();
  return found;
}

}  // namespace

base::Result<std::vector<model::Trace>> openSnapshots(std::span<const uint8_t> bytes,
                                                      const std::string& name,
                                                      const ReadOptions& options) {
  std::vector<model::Trace> traces;
  std::vector<model::StartedDevices> started;  // by trace
  std::optional<base::Error> passed_over;      // the first member that is something else
  model::Issues issues;
  TG_RETURN_IF_ERROR(unpack(bytes, name, [&](const Unpacked& item) -> base::Status {
    // The curve of a member does not continue that of the one before.
    bool is_first = traces.empty() && !passed_over;
    if (!is_first && options.forget_chunks) options.forget_chunks();
    if (options.short_of_memory) {
      uint64_t free_bytes = base::freeMemoryBytes();
      if (isShortOfMemory(item.bytes.size(), options.lives, free_bytes))
        options.short_of_memory(memoryNeedBytes(item.bytes.size(), options.lives), free_bytes);
    }
    model::StartedDevices begun;
    base::Result<std::vector<model::Trace>> found = readAndJoin(item, options, begun);
    if (!found.ok()) {
      bool is_member = item.name != name;
      if (is_member) found.error().what = fmt::format("{}: {}", item.name, found.error().what);
      // One bad member does not hide the others; reaching a limit stops everything.
      if (!is_member || found.error().kind != base::ErrorKind::kUnreadable) {
        return std::move(found.error());
      }
      issues.add({.kind = model::IssueKind::kUnreadMember, .detail = found.error().what});
      if (!passed_over) passed_over = std::move(found.error());
      return base::okStatus();
    }
    for (model::Trace& trace : found.value()) {
      for (const model::Issue& issue : item.issues) trace.issues.add(issue);
      trace.source.container = item.container;
      trace.source.file_bytes = bytes.size();
      traces.push_back(std::move(trace));
      // None was joined if there are several snapshots in one input.
      started.push_back(std::exchange(begun, {}));
    }
    return base::okStatus();
  }));
  // An archive may contain other files beside snapshots, but not only those.
  if (traces.empty()) {
    if (passed_over) return std::move(*passed_over);
    return base::Error{base::ErrorKind::kUnreadable, "this archive or page contains no file", 0,
                       "Tidegauge reads archives and pages with PyTorch memory snapshots."};
  }
  for (size_t i = 0; i < traces.size(); ++i) {
    model::Trace& trace = traces[i];
    for (const model::Issue& issue : issues.all()) trace.issues.add(issue);
    if (!options.lives) {
      model::keepEventsAlone(trace);
      continue;
    }
    model::buildLives(trace, {}, std::move(started[i]));
    model::noteHistory(trace);
    model::joinTensors(trace);
  }
  return traces;
}

base::Result<std::vector<model::Trace>> openSnapshots(const FeedObjects& feed,
                                                      const std::string& name,
                                                      const ReadOptions& options) {
  TG_ASSIGN_OR_RETURN(std::vector<model::Trace> traces, readObjects(feed, name, options));
  for (model::Trace& trace : traces) {
    model::buildLives(trace, {});
    model::noteHistory(trace);
    model::joinTensors(trace);
  }
  return traces;
}

base::Result<std::vector<model::Trace>> openSnapshots(const std::string& path,
                                                      const ReadOptions& options) {
  TG_ASSIGN_OR_RETURN(base::FileBytes file, base::FileBytes::open(path, {mayBecomeReadable, {}}));
  auto traces = openSnapshots(file.bytes(), path == "-" ? "standard input" : path, options);
  // Whatever was read, or seemed wrong, may be of no content that the file ever had.
  if (file.hasChanged())
    return base::Error{base::ErrorKind::kUnreadable, "the file changed while Tidegauge read it",
                       std::nullopt, "Copy the file and open the copy."};
  return traces;
}

}  // namespace tidegauge::readers::torch
