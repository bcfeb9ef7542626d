// Verifier: the implementation of verify(), under one set of policies.
#pragma once

#include "replay/verify.h"

namespace tidegauge::replay {

inline bool isDriverTraffic(model::Action action) {
  using model::Action;
  return action == Action::kSegmentAlloc || action == Action::kSegmentFree ||
         action == Action::kSegmentMap || action == Action::kSegmentUnmap;
}

// A trial has an allocator, a driver and counts of its own: hence its many members.
class Verifier final : public Listener {
 public:
  // The assumed driver: as in the trace, or one that never refuses (all refusals came from a
  // limit).
  enum class Refusals : uint8_t { kRecorded, kNone };
  Verifier(const Tape& tape, const Settings& settings, std::optional<uint64_t> capacity_bytes,
           Refusals refusals = Refusals::kRecorded);
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  // Gives up after more differences than that.
  Verification run(uint64_t most_divergences);

  // ---- for the driver that repeats the recorded answers ----------------------------------------
  // The driver is about to be asked: does the trace continue with memory from it?
  bool givesNow() const;
  // Refuses requests that would fit: others hold a part of the device.
  bool refusesAsRecorded() const { return refuses_as_recorded_; }
  uint64_t addressNow() const { return at_ < tape_.steps() ? tape_.address(at_) : 0; }

  void wrote(const Entry& entry) override;
  void arrange(std::span<BlockId> blocks) override;

 private:
  using Step = model::Step;
  // Driver traffic and late completions, up to the program's next request or free.
  struct Group {
    Step begin = 0, end = 0;
    Step late_end = 0;         // completions that come first end here
    bool has_request = false;  // at `end`: an alloc or an oom
  };

  void step();
  void collectRest();
  void stepFree();
  bool isDeferred(Step step) const;
  void stepGroup();
  Group groupHere() const;
  // The entries from at_ on equal the allocator's; false: they differ.
  bool malloc(const Group& group, Step ready_end);
  bool flush();
  bool complete(Step end);
  bool attempt(const Group& group);
  bool markDone(Step step);
  void ask(const Group& group, Step ready_end);  // adds the request to the program
  void askDone(Step begin, Step end);
  Request& asks(Op op, Step step, uint32_t name = 0);
  void noteRefusal(const Group& group, uint64_t reserved_bytes);
  void noticeReleasedPools(const Group& group);
  bool wouldBeFull(const Group& group) const;
  bool emptied();  // flush(), counted
  uint64_t reservedNow() const;

  bool matches(const Entry& entry) const;
  void countRelease();
  void differs(const Entry& entry, Cause cause, bool wrote_nothing = false);
  void continueAfter(Step next);  // from the state in the trace
  std::optional<BlockId> live(Step step) const;
  void compareFinalState();

  const Tape& tape_;
  Settings settings_;
  std::optional<uint64_t> capacity_bytes_;
  Refusals refusals_;
  uint64_t most_reserved_bytes_;
  std::unique_ptr<Driver> driver_;
  std::optional<Allocator> allocator_;
  std::vector<BlockId> live_;  // by name
  Step at_ = 0;
  std::optional<Divergence> difference_;  // of the current attempt
  uint32_t failed_requests_ = 0;
  uint64_t rebuild_work_ = 0;
  uint64_t searched_before_ = 0;  // by abandoned allocators
  bool is_muted_ = false, refuses_as_recorded_ = false;
  Verification result_;
};

}  // namespace tidegauge::replay
