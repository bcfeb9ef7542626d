// The program's requests, extracted while the trace is compared, and after that.
#include <algorithm>
#include <vector>

#include "replay/verifier.h"

namespace tidegauge::replay {

using model::Action;
using model::Step;

Request& Verifier::asks(Op op, Step step, uint32_t name) {
  Request request;
  request.op = op;
  request.step = step;
  request.name = name;
  return result_.program.requests.emplace_back(request);
}

void Verifier::askDone(Step begin, Step end) {
  for (Step step = begin; step < end; ++step)
    if (tape_.action(step) == Action::kFreeCompleted && tape_.name(step) != kNoName)
      asks(Op::kDone, step, tape_.name(step));
}

void Verifier::ask(const Group& group, Step ready_end) {
  askDone(group.begin, ready_end);
  bool failed = tape_.action(group.end) == Action::kOom;
  uint32_t name = failed ? tape_.names() + failed_requests_ : tape_.name(group.end);
  uint64_t bytes = tape_.bytes(group.end);
  if (bytes > 0 && bytes <= model::kMaxRequestBytes && name != kNoName) {
    Request& request = asks(Op::kMalloc, group.end, name);
    request.failed = failed;
    request.bytes = bytes;
    request.stream = tape_.stream(group.end);
    request.owner = tape_.owner(group.end);
  }
  // Those that its retry waited for.
  askDone(ready_end, group.end);
}

bool Verifier::isDeferred(Step step) const {
  return tape_.action(step) != Action::kFree &&
         (step + 1 >= tape_.steps() || tape_.action(step + 1) != Action::kFreeCompleted ||
          tape_.address(step + 1) != tape_.address(step));
}

// The program's remaining requests, which are no longer compared.
void Verifier::collectRest() {
  std::vector<bool> is_released;
  while (at_ < tape_.steps()) {
    Action action = tape_.action(at_);
    if (action == Action::kFreeRequested || action == Action::kFree) {
      bool is_deferred = isDeferred(at_);
      uint32_t name = tape_.name(at_);
      if (name != kNoName) asks(Op::kFree, at_, name).is_shared = is_deferred;
      at_ += is_deferred || action == Action::kFree ? 1 : 2;
      continue;
    }
    Group group = groupHere();
    for (Step step = group.late_end; step < group.end; ++step) {
      OwnerIndex owner = tape_.owner(step);
      bool gives_back =
          tape_.action(step) == Action::kSegmentFree || tape_.action(step) == Action::kSegmentUnmap;
      if (!gives_back || owner == 0) continue;
      if (is_released.size() <= owner) is_released.resize(size_t{owner} + 1);
      if (!is_released[owner]) asks(Op::kReleasePool, step).owner = owner;
      is_released[owner] = true;
    }
    if (group.has_request) {
      if (OwnerIndex owner = tape_.owner(group.end); owner < is_released.size())
        is_released[owner] = false;  // an owner that is allocated from is in use
      ask(group, group.late_end);
      if (tape_.action(group.end) == Action::kOom) ++failed_requests_;
      at_ = group.end + 1;
      continue;
    }
    askDone(group.begin, group.late_end);
    if (group.late_end < group.end) asks(Op::kEmptyCache, group.late_end);
    at_ = std::max(at_ + 1, group.end);
  }
}

}  // namespace tidegauge::replay
