#include <algorithm>
#include <numeric>

#include "model/lives/blocks/older_blocks.h"

namespace tidegauge::model {
namespace {

class DrawingOrder {
 public:
  DrawingOrder(Trace& trace, Device& device, const std::vector<OlderBlock>& older,
               const std::vector<std::pair<uint64_t, BlockNumber>>& final_blocks)
      : trace_(trace),
        device_(device),
        older_(older),
        final_blocks_(final_blocks),
        base_(device.allocation_begin) {}

  // Older rows precede the traced ones; the few lost blocks that begin later are merged in.
  void run() {
    std::vector<uint32_t> order(older_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const OlderBlock& oa = older_[a];
      const OlderBlock& ob = older_[b];
      if (oa.first_step != ob.first_step) return oa.first_step < ob.first_step;
      if (oa.last_step != ob.last_step) return oa.last_step > ob.last_step;
      return oa.address < ob.address;
    });
    size_t front = 0;
    while (front < order.size() && older_[order[front]].first_step == 0) ++front;

    size_t traced = rows().size() - base_;
    std::vector<uint32_t> older_row(older_.size());
    for (size_t i = 0; i < front; ++i) older_row[order[i]] = static_cast<uint32_t>(i);
    // Positions of late older rows among the traced rows, and the shift of the traced rows after
    // them.
    std::vector<size_t> late_position;
    for (size_t i = front; i < order.size(); ++i) {
      auto begin = rows().first_step.begin() + static_cast<ptrdiff_t>(base_);
      auto at = std::upper_bound(begin, begin + static_cast<ptrdiff_t>(traced),
                                 older_[order[i]].first_step);
      late_position.push_back(static_cast<size_t>(at - begin));
      older_row[order[i]] = static_cast<uint32_t>(front + late_position.back() + (i - front));
    }
    auto rowOf = [&](uint32_t subject) -> uint32_t {
      if (subject & kOlderBit)
        return static_cast<uint32_t>(base_ + older_row[subject & ~kOlderBit]);
      auto late = std::upper_bound(late_position.begin(), late_position.end(), subject);
      return static_cast<uint32_t>(base_ + front + subject +
                                   static_cast<size_t>(late - late_position.begin()));
    };
    fixSubjects(rowOf);
    insertOlder(order, front, late_position);
    device_.allocation_begin = base_;
    device_.allocation_end = rows().size();
  }

 private:
  Allocations& rows() { return trace_.allocations; }

  template <class RowOf>
  void fixSubjects(RowOf&& rowOf) {
    bool are_rows = base_ == 0 && older_.empty();  // numbers of traced blocks are their rows then
    for (uint64_t event = device_.event_begin; event < device_.event_end && !are_rows; ++event) {
      Action action = trace_.events.action[event];
      bool of_allocation = action <= Action::kFree || action == Action::kAnnotate;
      uint32_t& subject = trace_.events.subject[event];
      if (of_allocation && subject != kNoBlock) subject = rowOf(subject);
    }
    for (auto [block, subject] : final_blocks_) {
      trace_.final_blocks.allocation[block] = AllocationId(rowOf(subject));
    }
  }

  void insertOlder(const std::vector<uint32_t>& order, size_t front,
                   const std::vector<size_t>& late_position) {
    auto insert = [&](auto& column, auto field) {
      using Value = typename std::remove_reference_t<decltype(column)>::value_type;
      std::vector<Value> head(front);
      for (size_t i = 0; i < front; ++i) head[i] = Value(field(older_[order[i]]));
      auto begin = column.begin() + static_cast<ptrdiff_t>(base_);
      if (late_position.empty()) {
        column.insert(begin, head.begin(), head.end());
        return;
      }
      std::vector<Value> merged = std::move(head);
      merged.reserve(column.size() - base_ + order.size());
      size_t from = 0;
      for (size_t i = 0; i < late_position.size(); ++i) {
        merged.insert(merged.end(), begin + static_cast<ptrdiff_t>(from),
                      begin + static_cast<ptrdiff_t>(late_position[i]));
        from = late_position[i];
        merged.push_back(Value(field(older_[order[front + i]])));
      }
      merged.insert(merged.end(), begin + static_cast<ptrdiff_t>(from), column.end());
      column.resize(base_);
      column.insert(column.end(), merged.begin(), merged.end());
    };
    Allocations& a = rows();
    insert(a.address, [](const OlderBlock& o) { return o.address; });
    insert(a.requested_bytes, [](const OlderBlock& o) { return o.requested_bytes; });
    insert(a.block_bytes, [](const OlderBlock& o) { return o.block_bytes; });
    insert(a.segment, [](const OlderBlock& o) { return o.segment; });
    insert(a.stack, [](const OlderBlock& o) { return o.stack; });
    insert(a.last_step, [](const OlderBlock& o) { return o.last_step; });
    insert(a.free_requested_step, [](const OlderBlock& o) { return o.free_requested_step; });
    insert(a.version, [](const OlderBlock& o) { return o.version; });
    insert(a.stream, [](const OlderBlock& o) { return o.stream; });
    insert(a.pool, [](const OlderBlock& o) { return o.pool; });
    insert(a.provenance, [](const OlderBlock& o) { return o.provenance; });
    insert(a.flags, [](const OlderBlock& o) { return o.flags; });
    insert(a.first_step, [](const OlderBlock& o) { return o.first_step; });
    if (!trace_.events.category.empty()) {
      insert(a.category, [](const OlderBlock& o) { return o.category; });
    }
  }

  Trace& trace_;
  Device& device_;
  const std::vector<OlderBlock>& older_;
  const std::vector<std::pair<uint64_t, BlockNumber>>& final_blocks_;
  size_t base_;
};

}  // namespace

void writeInDrawingOrder(Trace& trace, Device& device, const std::vector<OlderBlock>& older,
                         const std::vector<std::pair<uint64_t, BlockNumber>>& final_blocks) {
  DrawingOrder(trace, device, older, final_blocks).run();
}

}  // namespace tidegauge::model
