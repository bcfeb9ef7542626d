// Every column of a trace as text, so that two traces can be compared exactly:
//
//   expectSameTraces(read_in_steps, read_at_once);    names the column that differs
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/recorded_work.h"
#include "model/trace.h"

namespace tidegauge::testing {

class EveryColumn {
 public:
  explicit EveryColumn(const model::Trace& trace) : trace_(trace) {
    addRest();
    addEvents();
    addLives();
    addFinalState();
    if (trace.work) addWork(*trace.work);
  }
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  template <class T>
  static std::string textOf(const T& value) {
    if constexpr (requires { value.value; }) {
      return fmt::to_string(value.value);
    } else if constexpr (std::is_enum_v<T>) {
      return fmt::to_string(static_cast<int64_t>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value;
    } else {
      return fmt::to_string(static_cast<int64_t>(value));
    }
  }
  template <class Column>
  void add(const char* name, const Column& column) {
    std::string text;
    for (size_t i = 0; i < column.size(); ++i) {
      typename std::remove_cvref_t<decltype(column[i])> value = column[i];
      text += textOf(value) + " ";
    }
    all_.emplace_back(name, std::move(text));
  }
  void add(const char* name, const std::vector<bool>& column) {
    add(name, std::vector<uint8_t>(column.begin(), column.end()));
  }

  void addRest() {
    all_.emplace_back("name", trace_.source.name);
    all_.emplace_back("format", trace_.source.format);
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < trace_.strings.size(); ++i)
      texts.emplace_back(trace_.strings.text(base::StringId(i)));
    add("strings", texts);
    add("frames.function", trace_.frames.function);
    add("frames.file", trace_.frames.file);
    add("frames.line", trace_.frames.line);
    add("frames.kind", trace_.frames.kind);
    std::string stacks;
    for (uint32_t i = 0; i < trace_.stacks.size(); ++i) {
      for (model::FrameId frame : trace_.stacks.framesOf(model::StackId(i)))
        stacks += fmt::format("{} ", frame.value);
      stacks += "| ";
    }
    all_.emplace_back("stacks", stacks);
    std::string devices;
    for (const model::Device& d : trace_.devices) {
      devices +=
          fmt::format("{} {} {} {} {} {} | {} {} {} {} {} {} {} {} {} {}; ", d.ordinal,
                      static_cast<int>(d.kind), static_cast<int>(d.known), d.has_allocator,
                      d.knows_requests, d.total_bytes, d.event_begin, d.event_end,
                      d.allocation_begin, d.allocation_end, d.segment_begin, d.segment_end,
                      d.piece_begin, d.piece_end, d.final_segment_begin, d.final_segment_end);
    }
    all_.emplace_back("devices", devices);
    std::string streams;
    for (const model::Stream& stream : trace_.streams) streams += fmt::format("{} ", stream.raw);
    all_.emplace_back("streams", streams);
    std::string issues;
    for (const model::Issue& i : trace_.issues.all()) {
      issues += fmt::format("{} {} {} {} {} {} {}; ", name(i.kind), i.count, i.device, i.first_step,
                            i.first_offset, i.bytes, i.detail);
    }
    all_.emplace_back("issues", issues);
  }

  void addEvents() {
    const model::Events& e = trace_.events;
    add("events.action", e.action);
    add("events.address", e.address);
    add("events.size_bytes", e.size_bytes);
    add("events.stack", e.stack);
    add("events.stream", e.stream);
    add("events.subject", e.subject);
    add("events.time_us", e.time_us);
  }

  void addLives() {
    const model::Allocations& a = trace_.allocations;
    add("allocations.address", a.address);
    add("allocations.requested_bytes", a.requested_bytes);
    add("allocations.block_bytes", a.block_bytes);
    add("allocations.segment", a.segment);
    add("allocations.stack", a.stack);
    add("allocations.first_step", a.first_step);
    add("allocations.last_step", a.last_step);
    add("allocations.free_requested_step", a.free_requested_step);
    add("allocations.version", a.version);
    add("allocations.stream", a.stream);
    add("allocations.pool", a.pool);
    add("allocations.provenance", a.provenance);
    add("allocations.flags", a.flags);
    const model::Segments& s = trace_.segments;
    add("segments.address", s.address);
    add("segments.total_bytes", s.total_bytes);
    add("segments.kind", s.kind);
    add("segments.stack", s.stack);
    add("segments.first_step", s.first_step);
    add("segments.last_step", s.last_step);
    add("segments.stream", s.stream);
    add("segments.pool", s.pool);
    add("segments.provenance", s.provenance);
    add("segments.small_pool", s.small_pool);
    const model::Pieces& p = trace_.pieces;
    add("pieces.segment", p.segment);
    add("pieces.address", p.address);
    add("pieces.size_bytes", p.size_bytes);
    add("pieces.first_step", p.first_step);
    add("pieces.last_step", p.last_step);
  }

  void addFinalState() {
    const model::FinalSegments& s = trace_.final_segments;
    add("final_segments.device", s.device);
    add("final_segments.address", s.address);
    add("final_segments.total_bytes", s.total_bytes);
    add("final_segments.kind", s.kind);
    add("final_segments.small_pool", s.small_pool);
    add("final_segments.stream", s.stream);
    add("final_segments.stack", s.stack);
    add("final_segments.block_begin", s.block_begin);
    add("final_segments.block_end", s.block_end);
    add("final_segments.segment", s.segment);
    const model::FinalBlocks& b = trace_.final_blocks;
    add("final_blocks.address", b.address);
    add("final_blocks.size_bytes", b.size_bytes);
    add("final_blocks.requested_bytes", b.requested_bytes);
    add("final_blocks.state", b.state);
    add("final_blocks.stack", b.stack);
    add("final_blocks.allocation", b.allocation);
  }

  void addWork(const model::RecordedWork& work) {
    all_.emplace_back("process_id", fmt::to_string(work.process_id));
    add("refused.function", work.refused.function);
    add("refused.code", work.refused.code);
    add("refused.kind", work.refused.kind);
    add("refused.device", work.refused.device);
    add("refused.size_bytes", work.refused.size_bytes);
    add("refused.stack", work.refused.stack);
    add("refused.first_ns", work.refused.first_ns);
    add("refused.count", work.refused.count);
    add("refused_in_row.event", work.refused_in_row.event);
    add("refused_in_row.count", work.refused_in_row.count);
    add("refused_in_row.first_ns", work.refused_in_row.first_ns);
    add("held.kind", work.held.kind);
    add("held.device", work.held.device);
    add("held.bytes", work.held.bytes);
    add("held.count", work.held.count);
    add("held.stack", work.held.stack);
    add("held.oldest_ns", work.held.oldest_ns);
    add("frame_modules", work.frame_modules);
    add("answers.time_ns", work.answers.time_ns);
    add("answers.device", work.answers.device);
    add("answers.free_bytes", work.answers.free_bytes);
    add("answers.total_bytes", work.answers.total_bytes);
    add("at_least", work.at_least);
    add("kernels.kernel_id", work.kernels.kernel_id);
    add("kernels.name", work.kernels.name);
    add("launches.begin_ns", work.launches.begin_ns);
    add("launches.end_ns", work.launches.end_ns);
    add("launches.kernel_id", work.launches.kernel_id);
    add("launches.count", work.launches.count);
    add("launch_events.time_ns", work.launch_events.time_ns);
    add("launch_events.kernel_id", work.launch_events.kernel_id);
    add("launch_events.stack", work.launch_events.stack);
    add("launches.grid", work.launches.grid[0]);
    std::string directions;
    for (base::StringId direction : work.copies.direction)
      directions += fmt::format("{} {}; ", direction.value, work.run->strings.text(direction));
    all_.emplace_back("copies.direction", directions);
    add("copies.function_id", work.copies.function_id);
    add("copies.submitted", work.copies.submitted);
    add("copies.failures", work.copies.failures);
    add("copies.begin_ns", work.copies.begin_ns);
    add("copies.count", work.copies.count);
    add("copies.size_bytes", work.copies.size_bytes);
    all_.emplace_back("has_blocks", fmt::to_string(work.has_blocks));
    std::string slacks;
    for (const model::PeakSlack& it : work.peak_slacks)
      slacks += fmt::format("{} {} {} {}; ", it.device, it.active_bytes, it.reserved_bytes,
                            it.moment_bytes);
    all_.emplace_back("peak_slacks", slacks);
    std::string figure;
    if (work.drivers_figure) {
      const model::DriversFigure& it = *work.drivers_figure;
      figure =
          fmt::format("{} {} {} {}", it.time_ns, it.used_bytes, it.recorded_bytes, it.has_managed);
    }
    all_.emplace_back("drivers_figure", figure);
    addRun(*work.run);
  }

  void addRun(const model::RecordedRun& run) {
    add("processes.process_id", run.processes.process_id);
    add("processes.ended_ns", run.processes.ended_ns);
    add("functions.function_id", run.functions.function_id);
    add("losses.count", run.losses.count);
    add("traced", run.traced);
    add("device_memory.used_bytes", run.device_memory.used_bytes);
    std::string rest = fmt::format("killed {} cut {} ended {} part {} carried {}", run.was_killed,
                                   run.is_cut_short, run.ended_ns.value_or(-1), run.part.number,
                                   run.part.carried_calls);
    for (const auto& it : run.passed_over) rest += fmt::format("; {} {}", it.table, it.rows);
    for (const auto& it : run.unread) rest += fmt::format("; {} {}", it.table, it.why);
    all_.emplace_back("run", rest);
  }

  const model::Trace& trace_;
  std::vector<std::pair<std::string, std::string>> all_;
};

inline void expectSameTraces(const std::vector<model::Trace>& a,
                             const std::vector<model::Trace>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EveryColumn columns(a[i]), others(b[i]);
    ASSERT_EQ(columns.all().size(), others.all().size());
    for (size_t k = 0; k < columns.all().size(); ++k)
      ASSERT_EQ(columns.all()[k], others.all()[k]) << a[i].source.name;
  }
}

}  // namespace tidegauge::testing
