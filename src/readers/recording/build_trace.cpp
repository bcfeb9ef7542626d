#include "readers/recording/build_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/call_site.h"
#include "model/incomplete.h"
#include "model/ledger/ledger.h"
#include "readers/recording/open_recording.h"
#include "readers/recording/tables/finished_rows.h"

namespace tidegauge::readers::recording {
namespace {

using model::Action;
using model::BlockState;
using model::IssueKind;
using model::SegmentKind;
using model::Trace;

constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;
constexpr int64_t kMaxMicroseconds = int64_t{1} << 53;

class TraceBuilder {
 public:
  TraceBuilder(const RecordedTables& tables, const RecordedProcess& process, CallBook& book,
               model::RecordedWork& work, BesideTrace& beside, TraceBook* kept)
      : tables_(tables),
        process_(process),
        book_(book),
        work_(work),
        beside_(beside),
        kept_(kept),
        stack_ids_(tables.stack_begin.size() - 1),
        frame_ids_(tables.frames.size()) {
    trace_.pools.push_back({});
  }

  Trace run(model::DriverMemory* driver) {
    numberFirstUses();
    numberLaunchStacks();
    takeRows();
    writeRefusals();
    work_.answers = book_.answers();
    work_.has_blocks = book_.hasBlocks();
    work_.drivers_figure = book_.driversFigure();
    noteLosses();
    if (book_.ledger() != nullptr) {
      noteGaps(*book_.ledger());
      addHoldings(*book_.ledger());
    }
    writeEvents();
    writeCarried();
    writeFinalState();
    for (model::Device& device : trace_.devices) {
      device.known = rows_->knownOf(device.ordinal);
      device.has_allocator = rows_->hasAllocator(device.ordinal);
      model::PeakSlack slack = rows_->peakSlackOf(device.ordinal);
      if (slack.moment_bytes > 0 && !has_lost_calls_) work_.peak_slacks.push_back(slack);
    }
    markLowerBounds();
    writeDriversWords();
    writeSource();
    trace_.streams = std::move(streams_.rows);
    if (driver != nullptr) {
      DriverRows& of_driver = book_.driverRows();
      *driver = std::move(of_driver.memory());
      for (uint32_t stack : of_driver.stacks()) driver->blocks.stack.push_back(stackOf(stack));
      noteBounds(*driver);
    }
    return std::move(trace_);
  }

 private:
  void note(IssueKind kind, uint64_t count, uint64_t bytes, std::string detail = "") {
    if (count == 0 && bytes == 0) return;
    trace_.issues.add({.kind = kind, .count = count, .bytes = bytes, .detail = std::move(detail)});
  }

  std::string_view functionOf(uint16_t function) const {
    bool known = function < tables_.functions.size();
    return known ? std::string_view(tables_.functions[function]) : "?";
  }

  void numberFirstUses() {
    for (const FirstUse& use : book_.uses()) {
      if (use.is_function) {
        trace_.strings.intern(functionOf(use.function));
      } else {
        stackOf(use.stack);
      }
    }
  }

  void writeRefusals() {
    model::RecordedRefusals& rows = work_.refused;
    for (const Refusal& refusal : book_.refusals()) {
      rows.function.push_back(trace_.strings.intern(functionOf(refusal.function)));
      rows.code.push_back(refusal.code);
      rows.kind.push_back(refusal.kind);
      rows.device.push_back(refusal.device);
      rows.size_bytes.push_back(refusal.size_bytes);
      rows.stack.push_back(stackOf(refusal.stack));
      rows.first_ns.push_back(refusal.first_ns);
      rows.count.push_back(refusal.count);
    }
  }

  void addHoldings(const model::ProcessLedger& ledger) {
    model::RecordedHoldings& rows = work_.held;
    for (const auto& list : {ledger.heldByStack(), ledger.blocksByStack()}) {
      for (const model::HeldBy& held : list) {
        rows.kind.push_back(held.kind);
        rows.device.push_back(held.device);
        rows.bytes.push_back(held.bytes);
        rows.count.push_back(held.count);
        rows.stack.push_back(stackOf(held.stack));
        rows.oldest_ns.push_back(held.oldest_ns);
      }
    }
  }

  void noteLosses() {
    for (const auto& [reason, count] : tables_.losses) {
      note(IssueKind::kIncompleteRecording, count, 0, "lost: " + reason);
      has_lost_calls_ |= model::losesMemoryCalls(reason);
    }
    model::RecordedWork work;
    work.run = tables_.run;
    work.process_id = process_.id;
    for (const model::Unwatched& unwatched : model::unwatchedOf(work)) {
      note(IssueKind::kIncompleteRecording, 1, 0, "not watched: " + wordsOf(unwatched));
      began_late_ |= model::isOlder(unwatched) && unwatched.figures.has(model::Figures::kMemory);
    }
    for (const model::Issue& issue : tables_.issues.all()) trace_.issues.add(issue);
  }

  void noteGaps(const model::ProcessLedger& ledger) {
    const model::LedgerCounts& counts = ledger.counts();
    note(IssueKind::kOlderThanRecording, counts.frees_of_older + counts.host_frees_of_older, 0,
         "memory of the driver");
    note(IssueKind::kOlderThanRecording, counts.block_frees_of_older, 0, "blocks of the framework");
    note(IssueKind::kOlderThanRecording, rows_->olderSegments(), rows_->olderBytes(),
         "segments that blocks show");
    is_older_ = counts.frees_of_older + counts.block_frees_of_older + counts.older_physical > 0;
    host_is_older_ = counts.host_frees_of_older > 0;
    note(IssueKind::kFreeAgain, counts.frees_again, 0, "memory of the driver");
    note(IssueKind::kFreeAgain, counts.block_frees_again, 0, "blocks of the framework");
    note(IssueKind::kNoAddress, counts.without_address, counts.bytes_without_address);
    note(IssueKind::kNoAddress, 0, ledger.unmappedBytes(), "physical memory");
    note(IssueKind::kBadValue, counts.impossible, 0, "sizes that no device has");
    for (int32_t device : ledger.devices()) {
      const model::MemorySum& promised = ledger.sum(device, model::MemoryKind::kGraph);
      note(IssueKind::kPromisedMemory, promised.live, promised.bytes);
    }
  }

  // Bounds of what the calls show about the driver's memory.
  void noteBounds(model::DriverMemory& driver) const {
    if (process_.calls.empty()) return;
    driver.first_call_ns = process_.calls.front().end_ns;
    driver.last_call_ns = process_.calls.back().end_ns;
    const model::LedgerCounts& counts = book_.ledger()->counts();
    driver.frees_of_older = counts.frees_of_older;
    driver.bytes_without_address = counts.bytes_without_address;
    driver.is_from_start = isFromStart();
  }

  // The process made a context before it took any memory, so nothing is older than the recording.
  bool isFromStart() const {
    if (process_.carried > 0) return false;  // earlier memory is in an earlier part
    for (const model::MemoryCall& call : process_.calls) {
      if (call.code != 0 || call.plane != model::Plane::kDriver) continue;
      bool makes = call.verb == model::Verb::kCreate || call.verb == model::Verb::kRetain;
      return call.kind == model::MemoryKind::kContext && makes;  // the first success decides
    }
    return false;
  }

  model::Device& deviceRow(int32_t ordinal) {
    for (model::Device& device : trace_.devices) {
      if (device.ordinal == ordinal) return device;
    }
    model::Device device;
    device.ordinal = ordinal;
    if (ordinal == kHostOrdinal) device.kind = model::DeviceKind::kPinnedHost;
    // By ordinal, the host last.
    auto before = [](const model::Device& a, const model::Device& b) {
      return static_cast<uint32_t>(a.ordinal) < static_cast<uint32_t>(b.ordinal);
    };
    auto at = std::upper_bound(trace_.devices.begin(), trace_.devices.end(), device, before);
    return *trace_.devices.insert(at, device);
  }

  model::StreamId streamOf(uint64_t raw) {
    auto [at, is_new] = streams_.ids.try_emplace(raw, model::StreamId(0));
    if (is_new && raw != 0 && streams_.rows.size() < model::StreamId::kNone) {
      at->second = model::StreamId(static_cast<uint16_t>(streams_.rows.size()));
      streams_.rows.push_back({raw});
    }
    streams_.last = {raw, at->second};
    return at->second;
  }

  // A frame without a name is identified by its place in its module.
  model::FrameId frameOf(uint32_t row) {
    model::FrameId& id = frame_ids_[row];
    if (id.valid()) return id;
    const RecordedFrame& frame = tables_.frames[row];
    std::string_view module = tables_.texts.text(frame.module);
    std::string_view file = tables_.texts.text(frame.file);
    std::string function(tables_.texts.text(frame.function));
    if (function.empty()) {
      std::string_view base = module.substr(module.find_last_of('/') + 1);
      function = base.empty() ? fmt::format("{:#x}", frame.offset)
                              : fmt::format("{}+{:#x}", base, frame.offset);
    }
    bool python = model::isPythonFile(file);
    id = model::FrameId(static_cast<uint32_t>(trace_.frames.size()));
    trace_.frames.function.push_back(trace_.strings.intern(function));
    trace_.frames.file.push_back(trace_.strings.intern(file.empty() ? module : file));
    trace_.frames.line.push_back(frame.line);
    trace_.frames.kind.push_back(python ? model::FrameKind::kPython : model::FrameKind::kCpp);
    trace_.frames.note.push_back(model::StringId());
    work_.frame_modules.push_back(module.empty() ? model::StringId()
                                                 : trace_.strings.intern(module));
    return id;
  }

  // Stacks of single launches; so far they have the file's numbers.
  void numberLaunchStacks() {
    for (model::StackId& stack : work_.launch_events.stack) {
      if (!stack.valid()) continue;
      auto row = tables_.stack_rows.find(stack.value);
      stack = row == tables_.stack_rows.end() ? model::StackId() : stackOf(row->second);
    }
  }

  model::StackId stackOf(uint32_t row) {
    if (row == model::kNoStackOfCall) return {};
    model::StackId& id = stack_ids_[row];
    uint64_t begin = tables_.stack_begin[row], end = tables_.stack_begin[row + 1];
    if (id.valid() || begin == end) return id;
    frames_of_stack_.clear();
    for (uint64_t i = begin; i < end; ++i)
      frames_of_stack_.push_back(frameOf(tables_.stack_frames[i]));
    id = trace_.stacks.add(frames_of_stack_);
    return id;
  }

  void takeRows() {
    if (kept_ != nullptr && kept_->has_trace) continueTrace();
    passRows();
    bool is_other = kept_ != nullptr && kept_->first_device != kNotKnown &&
                    (!rows_->continues() || firstDevice() != kept_->first_device);
    if (is_other) {  // what was finished before would not be so now
      *kept_ = {};
      streams_ = {};
      columns_.clear();
      trace_.allocations = {};
      trace_.segments = {};
      trace_.pieces = {};
      passRows();
    }
    // Issues of the rows come first, before those of what follows from all of them.
    trace_.issues = book_.rows().now().issues;
    for (const model::Issue& issue : rows_->guesses().all()) trace_.issues.add(issue);
  }

  int32_t firstDevice() const {
    std::vector<size_t> order = rows_->inOrder();
    return order.empty() ? kNotKnown : rows_->devices()[order.front()].device;
  }

  void passRows() {
    rows_.emplace(book_.rows(), kept_ == nullptr ? FinishedRows::State() : kept_->rows);
    auto take = [&](size_t device, const EventRow& row) { takeRow(device, row); };
    if (kept_ != nullptr && rows_->continues()) {
      rows_->forEach(book_.rows().markedRows(), take);
      keepRows();
    }
    rows_->forEach(book_.rows().rows().size(), take);
  }

  void continueTrace() {
    streams_ = kept_->streams;
    columns_ = std::move(kept_->columns);
    columns_.resize(kept_->settled.size());
    if (kept_->first < columns_.size())
      columns_[kept_->first].events = std::move(kept_->trace.events);
    for (size_t i = 0; i < columns_.size(); ++i)
      columns_[i].shorten(kept_->settled[i].events, kept_->settled[i].refusals);
    trace_.allocations = std::move(kept_->trace.allocations);
    trace_.segments = std::move(kept_->trace.segments);
    trace_.pieces = std::move(kept_->trace.pieces);
  }

  void keepRows() {
    kept_->rows = rows_->state();
    kept_->streams = streams_;
    kept_->settled.clear();
    for (const DeviceColumns& columns : columns_)
      kept_->settled.push_back({columns.size(), columns.refused.event.size()});
  }

  void takeRow(size_t device, const EventRow& row) {
    if (device == columns_.size()) reserve(columns_.emplace_back());
    takeRow(columns_[device], row);
  }

  void takeRow(DeviceColumns& to, const EventRow& row) {
    model::Events& events = to.events;
    int64_t time_us = row.time_ns / 1000;
    events.action.push_back(row.action);
    events.address.push_back(row.address);
    events.size_bytes.push_back(row.size_bytes);
    events.stack.push_back(stackOf(row.stack));
    events.stream.push_back(row.stream == streams_.last.first ? streams_.last.second
                                                              : streamOf(row.stream));
    events.time_us.push_back(time_us <= kMaxMicroseconds ? time_us : model::kNoTime);
    to.is_driver_block.push_back(row.is_provisional);
    if (row.refusals <= 1) return;
    to.refused.event.push_back(events.size() - 1);
    to.refused.count.push_back(row.refusals);
    to.refused.first_ns.push_back(row.other_ns);
  }

  void writeEvents() {
    std::vector<size_t> order = rows_->inOrder();
    for (size_t index : order) {
      DeviceColumns& of = columns_[index];
      uint64_t begin = trace_.events.size();
      join(of, begin);
      model::Device& device = deviceRow(rows_->devices()[index].device);
      device.event_begin = begin;
      device.event_end = trace_.events.size();
      if (kept_ == nullptr) of = {};
    }
    if (kept_ == nullptr) return;
    kept_->first = order.empty() ? 0 : order.front();
    kept_->first_device = firstDevice();
    kept_->columns = std::move(columns_);
    // Those that are continued, and rows without a life.
    trace_.events.subject.resize(trace_.events.size(), UINT32_MAX);
  }

  void join(DeviceColumns& of, uint64_t begin) {
    model::RecordedRefusalRows& refused = work_.refused_in_row;
    for (uint64_t event : of.refused.event) refused.event.push_back(begin + event);
    append(refused.count, of.refused.count);
    append(refused.first_ns, of.refused.first_ns);
    if (begin == 0) {
      if (kept_ == nullptr) beside_.is_driver_block = std::move(of.is_driver_block);
      trace_.events = std::move(of.events);
      of.events = {};
      return;
    }
    model::Events& events = trace_.events;
    append(events.action, of.events.action);
    append(events.address, of.events.address);
    append(events.size_bytes, of.events.size_bytes);
    append(events.stack, of.events.stack);
    append(events.time_us, of.events.time_us);
    for (size_t i = 0; i < of.events.stream.size(); ++i)
      events.stream.push_back(of.events.stream[i]);
    append(beside_.is_driver_block, of.is_driver_block);
  }

  template <class Column>
  static void append(Column& all, const Column& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  void writeCarried() {
    for (const EventRow& row : rows_->carried())
      beside_.carried.push_back({row.device, row.address, stackOf(row.stack)});
    std::sort(beside_.carried.begin(), beside_.carried.end());
  }

  // Address space for all rows, and for those of later readings: what is not used costs nothing.
  void reserve(DeviceColumns& of) const {
    constexpr size_t kTimes = 2, kLeast = 1 << 16;
    size_t count = book_.rows().rows().size();
    if (kept_ != nullptr) {
      count = std::max(kTimes * count, kLeast);
      of.events.subject.reserve(count);
    }
    of.events.action.reserve(count);
    of.events.address.reserve(count);
    of.events.size_bytes.reserve(count);
    of.events.stack.reserve(count);
    of.events.stream.reserve(count);
    of.events.time_us.reserve(count);
    of.is_driver_block.reserve(count);
  }

  // Writes the segments of one device after another, by ascending address.
  void writeFinalState() {
    std::vector<std::pair<uint64_t, const LiveSegment*>> order;
    for (const auto& [begin, segment] : rows_->segments()) order.emplace_back(begin, &segment);
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return static_cast<uint32_t>(rows_->deviceOf(*a.second)) <
             static_cast<uint32_t>(rows_->deviceOf(*b.second));
    });
    model::FinalSegments& finals = trace_.final_segments;
    for (const auto& [begin, segment] : order) {
      int32_t ordinal = rows_->deviceOf(*segment);
      bool has_blocks = rows_->hasBlocks(segment->place);
      bool joins = finals.size() > 0 && segment->is_expandable &&
                   finals.kind.back() == SegmentKind::kExpandable &&
                   finals.device.back() == ordinal && last_place_ == segment->place &&
                   finals.address.back() + finals.total_bytes.back() == begin;
      if (joins) {
        finals.total_bytes.back() += segment->end - begin;
      } else {
        if (finals.size() > 0) closeSegment();
        openSegment(ordinal, begin, *segment, has_blocks);
      }
      if (!has_blocks) {
        writeBlock(begin, segment->end - begin, segment->end - begin, segment->stack);
      }
      last_place_ = segment->place;
      last_has_blocks_ = has_blocks;
    }
    if (finals.size() > 0) closeSegment();
    for (size_t begin = 0; begin < finals.size();) {
      size_t end = begin;
      while (end < finals.size() && finals.device[end] == finals.device[begin]) ++end;
      model::Device& device = deviceRow(finals.device[begin]);
      device.final_segment_begin = begin;
      device.final_segment_end = end;
      begin = end;
    }
  }

  void openSegment(int32_t ordinal, uint64_t begin, const LiveSegment& segment, bool has_blocks) {
    model::FinalSegments& finals = trace_.final_segments;
    uint64_t bytes = segment.end - begin;
    bool small = has_blocks && !segment.is_older && bytes <= kSmallSegmentBytes;
    finals.device.push_back(ordinal);
    finals.address.push_back(begin);
    finals.total_bytes.push_back(bytes);
    finals.allocated_bytes.push_back(model::kUnknownBytes);
    finals.active_bytes.push_back(model::kUnknownBytes);
    finals.requested_bytes.push_back(model::kUnknownBytes);
    finals.kind.push_back(segment.is_older        ? SegmentKind::kUnknown
                          : segment.is_expandable ? SegmentKind::kExpandable
                          : small                 ? SegmentKind::kSmall
                                                  : SegmentKind::kLarge);
    finals.small_pool.push_back(small);
    finals.stream.push_back(streamOf(rows_->streamOf(segment)));
    finals.pool.push_back(model::PoolId(0));
    finals.stack.push_back(stackOf(segment.stack));
    finals.block_begin.push_back(trace_.final_blocks.size());
    finals.block_end.push_back(trace_.final_blocks.size());
  }

  // If some memory is older than the recording, there may be more of it.
  void markLowerBounds() {
    if (has_lost_calls_) return;
    for (const model::Device& device : trace_.devices) {
      bool of_host = device.kind == model::DeviceKind::kPinnedHost;
      bool at_least = of_host ? host_is_older_ : rows_->sawOlder() || is_older_;
      at_least |= began_late_;
      if (at_least) work_.at_least.push_back(device.ordinal);
    }
  }

  void writeDriversWords() {
    // it may not be on the device, so its sum cannot be compared with the device's total
    if (rows_->hasManaged()) return;
    for (model::Device& device : trace_.devices) {
      uint64_t total_bytes = rows_->totalBytesOf(device.ordinal);
      if (total_bytes > 0) device.total_bytes = total_bytes;
    }
  }

  // Adds the framework's blocks and the free parts between them.
  void closeSegment() {
    model::FinalSegments& finals = trace_.final_segments;
    uint64_t at = finals.address.back();
    uint64_t end = at + finals.total_bytes.back();
    if (last_has_blocks_) {
      const auto& blocks = rows_->blocks();
      for (auto block = blocks.lower_bound(at); block != blocks.end() && block->first < end;
           ++block) {
        if (block->first > at) writeFree(at, block->first - at);
        auto next = std::next(block);
        uint64_t most = (next == blocks.end() ? end : std::min(end, next->first)) - block->first;
        uint64_t bytes = std::min(most, block->second.block_bytes);
        writeBlock(block->first, bytes, block->second.requested_bytes, block->second.stack);
        at = block->first + bytes;
      }
      if (at < end) writeFree(at, end - at);
    }
    finals.block_end.back() = trace_.final_blocks.size();
  }

  void writeFree(uint64_t address, uint64_t bytes) {
    writeBlock(address, bytes, 0, model::kNoStackOfCall);
    trace_.final_blocks.state.back() = BlockState::kInactive;
  }

  void writeBlock(uint64_t address, uint64_t bytes, uint64_t requested, uint32_t stack) {
    model::FinalBlocks& blocks = trace_.final_blocks;
    blocks.address.push_back(address);
    blocks.size_bytes.push_back(bytes);
    blocks.requested_bytes.push_back(requested);
    blocks.state.push_back(BlockState::kActiveAllocated);
    blocks.stack.push_back(stackOf(stack));
  }

  void writeSource() {
    trace_.source.name = process_.id == kNoProcess
                             ? "no recorded call"
                             : fmt::format("pid {} {}", process_.pid, process_.name);
  }

  const RecordedTables& tables_;
  const RecordedProcess& process_;
  CallBook& book_;
  model::RecordedWork& work_;
  Trace trace_;
  BesideTrace& beside_;
  TraceBook* kept_;
  std::optional<FinishedRows> rows_;
  std::vector<DeviceColumns> columns_;  // by index of its devices
  std::vector<model::StackId> stack_ids_;
  std::vector<model::FrameId> frames_of_stack_;  // scratch
  std::vector<model::FrameId> frame_ids_;
  Streams streams_;
  uint64_t last_place_ = 0;
  bool last_has_blocks_ = false;
  bool is_older_ = false, host_is_older_ = false;  // shown by frees
  bool began_late_ = false;                        // it ran before it was watched
  bool has_lost_calls_ = false;                    // so figures may be too high, too
};

}  // namespace

Trace buildTrace(const RecordedTables& tables, const RecordedProcess& process, CallBook& book,
                 model::RecordedWork& work, BesideTrace& beside, bool with_driver,
                 TraceBook* kept) {
  return TraceBuilder(tables, process, book, work, beside, kept)
      .run(with_driver ? &work.driver : nullptr);
}

}  // namespace tidegauge::readers::recording
