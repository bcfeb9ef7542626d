// The Live view: a snapshot of the current state, requested repeatedly.
#include <fmt/format.h>

#include <algorithm>

#include "model/call_words.h"
#include "model/live/live_snapshot.h"
#include "model/live/rate_meter.h"
#include "model/recorded_work.h"
#include "server/session/questions.h"

namespace tidegauge::server {
namespace {

using model::LiveCopies;
using model::LiveDevice;
using model::LiveFailure;
using model::LiveKernel;
using model::LiveLoss;
using model::LiveRow;
using model::LiveSnapshot;
using model::LiveSource;
using model::LiveStack;
using model::LiveUnwatched;
using model::LiveWindow;
using model::LiveWish;
using model::RateMeter;
using model::RecordedWork;

constexpr std::string_view kStates[] = {"recording", "finished", "abandoned", "monitor"};
constexpr std::string_view kWindows[] = {"minute", "ten_minutes", "whole"};

json microseconds(int64_t ns) { return ns / 1000; }
json deviceOrNull(int32_t device) { return device < 0 ? json() : json(device); }

json framesJson(const std::vector<std::string>& frames) {
  json list = json::array();
  for (const std::string& frame : frames) list.push_back(shownText(frame));
  return list;
}

// The call site; null: no stack was recorded.
json siteJson(const model::StackWords& stack) {
  return stack.frames.empty() ? json() : json(shownText(stack.site));
}

json lineJson(const std::vector<int64_t>& line) {
  json list = json::array();
  for (int64_t bytes : line) list.push_back(bytes < 0 ? json() : json(bytes));
  return list;
}

json devicesJson(const std::vector<LiveDevice>& devices, bool with_processes) {
  json list = json::array();
  for (const LiveDevice& device : devices) {
    list.push_back({{"device", deviceOrNull(device.device)},
                    {"live_bytes", device.live_bytes},
                    {"peak_bytes", device.peak_bytes}});
    if (with_processes) list.back()["processes"] = device.processes;
  }
  return list;
}

// The open file with the trace of a process of this recording; null if there is none yet.
json fileOfTrace(const Session& session, const LiveSource& source, const LiveRow& row) {
  for (const auto& file : session.files) {
    const RecordedWork* work = file->analysed->trace.work.get();
    if (file->recording == source.name() && work != nullptr && work->process_id == row.process)
      return file->id;
  }
  return {};
}

json rowJson(const Session& session, const LiveSource& source, const LiveRow& row) {
  auto maybe = [](const std::optional<uint64_t>& bytes) { return bytes ? json(*bytes) : json(); };
  json it = {{"process", row.process},
             {"pid", row.pid},
             {"name", shownText(row.name)},
             {"command", shownText(row.command)},
             {"began_us", microseconds(row.began_ns)},
             {"ended_us", row.ended_ns ? microseconds(*row.ended_ns) : json()},
             {"file", fileOfTrace(session, source, row)},
             {"live_bytes", row.live_bytes},
             {"peak_bytes", row.peak_bytes},
             {"host_bytes", row.host_bytes},
             {"unfreed_bytes", row.unfreed_bytes},
             {"at_least", row.at_least},
             {"framework_reserved_bytes", maybe(row.framework_reserved_bytes)},
             {"framework_used_bytes", maybe(row.framework_used_bytes)},
             {"allocations", row.allocations},
             {"frees", row.frees},
             {"launches", row.launches},
             {"failures", row.failures},
             {"copies", row.copies},
             {"copied_to_device_bytes", row.copied_to_device_bytes},
             {"copied_to_host_bytes", row.copied_to_host_bytes},
             {"allocations_per_second", row.allocations_per_s},
             {"launches_per_second", row.launches_per_s},
             {"to_device_bytes_per_second", row.to_device_bytes_per_s},
             {"to_host_bytes_per_second", row.to_host_bytes_per_s},
             {"average", row.is_average},
             {"incomplete", row.incomplete.names()},
             {"devices", devicesJson(row.devices, false)},
             {"spark", lineJson(row.spark)},
             {"line", row.line.empty() ? json() : lineJson(row.line)}};
  return it;
}

json stacksJson(const std::vector<LiveStack>& stacks, uint64_t bytes, uint64_t more) {
  json rows = json::array();
  for (const LiveStack& stack : stacks)
    rows.push_back({{"process", stack.process},
                    {"device", deviceOrNull(stack.device)},
                    {"kind", name(stack.kind)},
                    {"bytes", stack.bytes},
                    {"blocks", stack.blocks},
                    {"site", siteJson(stack.stack)},
                    {"frames", framesJson(stack.stack.frames)}});
  return {{"rows", std::move(rows)}, {"bytes", bytes}, {"more", more}};
}

json kernelsJson(const LiveSnapshot& it) {
  json rows = json::array();
  for (const LiveKernel& kernel : it.kernels)
    rows.push_back({{"process", kernel.process},
                    {"name", shownText(kernel.name)},
                    {"launches", kernel.launches},
                    {"per_second", kernel.per_s}});
  return {{"rows", std::move(rows)},
          {"more", it.more_kernels},
          {"launches", it.launches},
          {"per_second", it.launches_per_s}};
}

json copiesJson(const LiveSnapshot& it) {
  json rows = json::array();
  for (const LiveCopies& copies : it.copies)
    rows.push_back({{"direction", shownText(copies.direction)},
                    {"calls", copies.calls},
                    {"bytes", copies.bytes},
                    {"failures", copies.failures},
                    {"timed_bytes", copies.timed_bytes},
                    {"timed_us", static_cast<double>(copies.timed_ns) / 1e3},
                    {"bytes_per_second", copies.bytes_per_s}});
  return rows;
}

json failuresJson(const LiveSnapshot& it) {
  json rows = json::array();
  for (const LiveFailure& failure : it.failures)
    rows.push_back({{"process", failure.process},
                    {"function", shownText(failure.function)},
                    {"code", failure.code},
                    {"words", model::codeWords(failure.code)},
                    {"device", deviceOrNull(failure.device)},
                    {"count", failure.count},
                    {"last_bytes", failure.last_bytes},
                    {"last_us", microseconds(failure.last_ns)},
                    {"site", siteJson(failure.stack)},
                    {"frames", framesJson(failure.stack.frames)}});
  return {{"rows", std::move(rows)}, {"more", it.more_failures}};
}

json lossesJson(const LiveSnapshot& it) {
  json rows = json::array();
  for (const LiveLoss& loss : it.losses)
    rows.push_back({{"reason", shownText(loss.reason)},
                    {"count", loss.count},
                    {"meaning", model::lossMeaning(loss.reason)}});
  return rows;
}

json unwatchedJson(const LiveSnapshot& it) {
  json rows = json::array();
  for (const LiveUnwatched& row : it.unwatched)
    rows.push_back({{"process", row.process ? json(*row.process) : json()},
                    {"library", shownText(row.what.library)},
                    {"function", shownText(row.what.function)},
                    {"figures", row.what.figures.names()},
                    {"reason", shownText(row.what.reason)}});
  return {{"rows", std::move(rows)}, {"more", it.more_unwatched}};
}

json liveJson(const Session& session, const LiveSource& source, const LiveSnapshot& it) {
  json processes = json::array();
  for (const LiveRow& row : it.processes) processes.push_back(rowJson(session, source, row));
  return {{"state", kStates[static_cast<size_t>(it.state)]},
          {"incomplete", !it.incomplete.empty()},
          {"incomplete_figures", it.incomplete.names()},
          {"now_us", microseconds(it.now_ns)},
          {"first_us", microseconds(it.first_ns)},
          {"newest_us", microseconds(it.newest_ns)},
          {"calls", it.calls},
          {"bad_rows", it.bad_rows},
          {"read", it.read_share},
          {"from_us", microseconds(it.from_ns)},
          {"to_us", microseconds(it.to_ns)},
          {"rate_seconds", RateMeter::kWindow_ns / 1'000'000'000},
          {"devices", devicesJson(it.devices, true)},
          {"processes", std::move(processes)},
          {"more_processes", it.more_processes},
          {"stacks", stacksJson(it.stacks, it.stacks_bytes, it.more_stacks)},
          {"blocks", stacksJson(it.blocks, it.blocks_bytes, it.more_blocks)},
          {"unfreed", stacksJson(it.unfreed, it.unfreed_bytes, it.more_unfreed)},
          {"kernels", kernelsJson(it)},
          {"copies", copiesJson(it)},
          {"failures", failuresJson(it)},
          {"losses", lossesJson(it)},
          {"unwatched", unwatchedJson(it)}};
}

}  // namespace

json livesJson(const Session& session) {
  json lives = json::array();
  for (size_t i = 0; i < session.lives.size(); ++i) {
    const LiveSource& source = *session.lives[i];
    json files = json::array();
    for (const auto& file : session.files)
      if (file->recording == source.name()) files.push_back(file->id);
    lives.push_back({{"id", i},
                     {"name", shownText(source.name())},
                     {"monitor", source.isMonitor()},
                     {"files", std::move(files)}});
  }
  return lives;
}

base::Result<Response> answerLive(const Question& question) {
  const auto& lives = question.session.lives;
  if (lives.empty())
    return notUsable("None of the open files is a recording",
                     "Record one: tidegauge record -o run.sqlite -- COMMAND");
  auto most = static_cast<int64_t>(lives.size()) - 1;
  TG_ASSIGN_OR_RETURN(int64_t source, question.params.integer("source", 0, most, 0));
  LiveWish wish;
  if (question.params.find("process") != nullptr) {
    TG_ASSIGN_OR_RETURN(int64_t process, question.params.integer("process", 0, UINT32_MAX));
    wish.process = static_cast<uint32_t>(process);
  }
  std::string window = question.params.text("window", kWindows[1]);
  const auto* found = std::find(std::begin(kWindows), std::end(kWindows), window);
  if (found == std::end(kWindows)) return notUsable("window must be minute, ten_minutes or whole");
  wish.window = static_cast<LiveWindow>(found - std::begin(kWindows));
  TG_ASSIGN_OR_RETURN(int64_t columns, question.params.integer("columns", 1, 1000, 300));
  wish.columns = static_cast<uint32_t>(columns);
  LiveSource& asked = *lives[static_cast<size_t>(source)];
  TG_ASSIGN_OR_RETURN(LiveSnapshot snapshot, asked.look(wish));
  return jsonResponse(liveJson(question.session, asked, snapshot));
}

}  // namespace tidegauge::server
