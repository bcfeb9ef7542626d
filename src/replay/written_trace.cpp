#include "replay/written_trace.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "model/lives/lives.h"

namespace tidegauge::replay {
namespace {

using model::Action;
using model::Step;

// Events from outside the allocator: notes of the program, and its snapshots.
bool isNote(Action action) {
  return action == Action::kSnapshot || action == Action::kAnnotate ||
         action == Action::kUserDefined || action >= Action::kFirstUnknown;
}

class Writer final : public Witness {
 public:
  Writer(const Tape& tape, model::Trace& trace)
      : tape_(tape), from_(tape.trace().events), events_(trace.events) {
    const model::Trace& recorded = tape.trace();
    streams_.resize(recorded.streams.size());
    for (size_t id = 0; id < streams_.size(); ++id)
      streams_[tape.rankOf(model::StreamId(static_cast<uint16_t>(id)))] =
          model::StreamId(static_cast<uint16_t>(id));
    const model::Allocations& all = recorded.allocations;
    for (size_t row = tape.device().allocation_begin; row < tape.device().allocation_end; ++row)
      if (model::isOlder(all.provenance[row])) block_stacks_[all.address[row]] = all.stack[row];
    const model::Segments& segments = recorded.segments;
    for (size_t row = tape.device().segment_begin; row < tape.device().segment_end; ++row)
      if (model::isOlder(segments.provenance[row]))
        segment_stacks_[segments.address[row]] = segments.stack[row];
  }

  void startsFrom(const Allocator&) override {}
  void begins(const Request& request) override {
    for (; at_ < tape_.steps() && at_ < request.step; ++at_)
      if (isNote(tape_.action(at_))) copyNote(at_);
    request_ = request;
    if (!begins_at_.empty() && begins_at_.back().first == request.step) return;
    begins_at_.emplace_back(request.step, static_cast<Step>(events_.size()));
  }
  void wrote(const Entry& entry) override {
    size_t row = tape_.row(request_.step);
    model::StackId stack = from_.stack[row];
    bool is_its_own = request_.op == Op::kFree || request_.op == Op::kDone;
    if (entry.action == Action::kAlloc) block_stacks_[entry.address] = stack;
    // A flush completes frees of other requests.
    if (entry.action == Action::kFreeCompleted && !is_its_own) {
      auto known = block_stacks_.find(entry.address);
      stack = known == block_stacks_.end() ? model::StackId() : known->second;
    }
    if (entry.action == Action::kSegmentAlloc || entry.action == Action::kSegmentMap)
      segment_stacks_.try_emplace(entry.address, stack);
    if (entry.action == Action::kSegmentFree || entry.action == Action::kSegmentUnmap)
      segment_stacks_.erase(entry.address);
    add(row, entry.action, entry.address, entry.bytes, stack, streams_[entry.stream],
        model::PoolId(entry.owner));
  }
  void finish() {
    for (; at_ < tape_.steps(); ++at_)
      if (isNote(tape_.action(at_))) copyNote(at_);
  }
  // The step here at which the program's request of step `recorded` begins.
  Step stepOf(Step recorded) const {
    auto at = std::ranges::find(begins_at_, recorded, &std::pair<Step, Step>::first);
    return at == begins_at_.end() ? 0 : at->second;
  }
  model::StreamId streamOf(StreamRank rank) const { return streams_[rank]; }
  model::StackId stackOfBlock(uint64_t address) const { return find(block_stacks_, address); }
  model::StackId stackOfSegment(uint64_t address) const { return find(segment_stacks_, address); }

 private:
  using Stacks = std::unordered_map<uint64_t, model::StackId>;
  static model::StackId find(const Stacks& stacks, uint64_t address) {
    auto known = stacks.find(address);
    return known == stacks.end() ? model::StackId() : known->second;
  }
  void copyNote(Step step) {
    size_t row = tape_.row(step);
    bool is_sum = tape_.action(step) == Action::kSnapshot;  // of another state
    model::PoolId pool = from_.pool.empty() ? model::PoolId(0) : from_.pool[row];
    add(row, tape_.action(step), tape_.address(step),
        is_sum ? model::kUnknownBytes : tape_.bytes(step), from_.stack[row], from_.stream[row],
        pool);
  }
  void add(size_t row, Action action, uint64_t address, uint64_t bytes, model::StackId stack,
           model::StreamId stream, model::PoolId pool) {
    events_.action.push_back(action);
    events_.address.push_back(address);
    events_.size_bytes.push_back(bytes);
    events_.stack.push_back(stack);
    events_.stream.push_back(stream);
    events_.pool.push_back(pool);
    if (!from_.time_us.empty()) {
      time_us_ =
          // completions come with the event that waits for them
          std::max(time_us_, from_.time_us[row]);
      events_.time_us.push_back(time_us_);
    }
    auto copy = [row](auto& to, const auto& from) {
      if (!from.empty()) to.push_back(from[row]);
    };
    copy(events_.compile_context, from_.compile_context);
    copy(events_.metadata, from_.metadata);
    copy(events_.category, from_.category);
  }

  const Tape& tape_;
  const model::Events& from_;
  model::Events& events_;
  std::vector<model::StreamId> streams_;  // by rank
  Stacks block_stacks_, segment_stacks_;  // by address, of existing blocks and segments
  Request request_;
  std::vector<std::pair<Step, Step>> begins_at_;  // recorded step, and step here
  Step at_ = 0;
  int64_t time_us_ = model::kNoTime;
};

// The final state: mapped memory, one row per cudaMalloc or range of pages, as PyTorch writes it.
class FinalState {
 public:
  FinalState(model::Trace& trace, const Allocator& allocator, const Writer& writer)
      : trace_(trace), allocator_(allocator), writer_(writer) {}

  void write() {
    for (const auto& [address, id] : allocator_.byAddress()) {
      const SegmentRow& segment = allocator_.segment(id);
      is_open_ = false;
      for (BlockId at = segment.first; at.valid(); at = allocator_.block(at).next)
        add(segment, allocator_.block(at));
    }
  }

 private:
  void add(const SegmentRow& segment, const Block& block) {
    if (!block.is_mapped) {
      is_open_ = false;
      return;
    }
    model::FinalSegments& rows = trace_.final_segments;
    if (!is_open_) open(segment, block);
    bool is_active = !block.isFree();
    model::FinalBlocks& blocks = trace_.final_blocks;
    blocks.address.push_back(block.address);
    blocks.size_bytes.push_back(block.bytes);
    blocks.requested_bytes.push_back(is_active ? block.requested_bytes : 0);
    blocks.state.push_back(block.is_allocated ? model::BlockState::kActiveAllocated
                           : block.waits      ? model::BlockState::kActivePendingFree
                                              : model::BlockState::kInactive);
    blocks.stack.push_back(is_active ? writer_.stackOfBlock(block.address) : model::StackId());
    rows.total_bytes.back() += block.bytes;
    rows.block_end.back() = blocks.size();
    if (block.is_allocated) rows.allocated_bytes.back() += block.bytes;
    if (!is_active) return;
    rows.active_bytes.back() += block.bytes;
    rows.requested_bytes.back() += block.requested_bytes;
  }
  void open(const SegmentRow& segment, const Block& block) {
    model::FinalSegments& rows = trace_.final_segments;
    rows.device.push_back(trace_.devices.front().ordinal);
    rows.address.push_back(block.address);
    rows.total_bytes.push_back(0);
    rows.allocated_bytes.push_back(0);
    rows.active_bytes.push_back(0);
    rows.requested_bytes.push_back(0);
    rows.kind.push_back(segment.page_bytes > 0 ? model::SegmentKind::kExpandable
                        : block.is_small       ? model::SegmentKind::kSmall
                                               : model::SegmentKind::kLarge);
    rows.small_pool.push_back(block.is_small);
    rows.stream.push_back(writer_.streamOf(block.stream));
    rows.pool.push_back(model::PoolId(block.owner));
    rows.stack.push_back(writer_.stackOfSegment(block.address));
    rows.block_begin.push_back(trace_.final_blocks.size());
    rows.block_end.push_back(trace_.final_blocks.size());
    is_open_ = true;
  }

  model::Trace& trace_;
  const Allocator& allocator_;
  const Writer& writer_;
  bool is_open_ = false;
};

model::AllocatorSettings recordedSettings(const Settings& settings, const std::string& conf) {
  model::AllocatorSettings recorded;
  recorded.present = true;
  recorded.conf = conf;
  recorded.expandable_segments = settings.expandable;
  recorded.max_split_bytes =
      settings.max_split_bytes == kUnlimited ? model::kUnknownBytes : settings.max_split_bytes;
  recorded.roundup_power2_divisions = settings.roundup_divisions;
  recorded.items.emplace_back("PYTORCH_CUDA_ALLOC_CONF", conf);
  return recorded;
}

}  // namespace

WrittenTrace writtenTrace(const Tape& tape, const Program& program, const WhatIfOptions& options,
                          const std::string& conf) {
  const model::Trace& recorded = tape.trace();
  model::Trace trace;
  trace.source = recorded.source;
  trace.source.format = "replay";
  trace.strings = recorded.strings.clone();
  trace.frames = recorded.frames;
  trace.stacks = recorded.stacks;
  trace.streams = recorded.streams;
  trace.pools = recorded.pools;
  trace.unknown_actions = recorded.unknown_actions;
  trace.annotations = recorded.annotations;
  trace.settings = recordedSettings(options.settings, conf);
  model::Device device;
  device.ordinal = tape.device().ordinal;
  device.kind = tape.device().kind;
  device.total_bytes =
      options.device_bytes.value_or(options.capacity_bytes.value_or(tape.device().total_bytes));
  trace.devices.push_back(device);

  Writer writer(tape, trace);
  WhatIfOptions watched = options;
  watched.witness = &writer;
  Outcome outcome = whatIf(tape, program, watched);
  writer.finish();
  FinalState(trace, outcome.end, writer).write();
  trace.devices.front().event_end = trace.events.size();
  trace.devices.front().final_segment_end = trace.final_segments.size();
  model::Issue issue;
  issue.kind = model::IssueKind::kReplayed;
  issue.device = device.ordinal;
  if (outcome.forecast_from) issue.first_step = writer.stepOf(*outcome.forecast_from);
  issue.detail = conf.empty() ? "PyTorch's defaults" : conf;
  trace.issues.add(std::move(issue));
  model::buildLives(trace);
  return {std::move(trace), std::move(outcome)};
}

}  // namespace tidegauge::replay
