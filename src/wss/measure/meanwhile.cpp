#include "wss/measure/meanwhile.h"

#include <utility>

namespace tidegauge::wss {

bool Meanwhile::exceedsLimit() const {
  bool is_full = limit_bytes > 0 && charged_bytes >= limit_bytes / 10 * 9;
  return is_full && shortageOf(within.counted, within.window_ns) == Shortage::kShort;
}

void add(Meanwhile& sum, const Meanwhile& more) {
  // Processes of one cgroup have the same counters, so the largest stand for all.
  if (more.within.counted.scanned >= sum.within.counted.scanned) {
    Work work = sum.work;
    bool is_reclaimed = sum.is_reclaimed;
    UnseenTouches unseen = sum.unseen;
    sum = more;
    sum.work = work;
    sum.unseen.add(unseen);
    sum.is_reclaimed |= is_reclaimed;
  }
  sum.is_reclaimed |= more.is_reclaimed;
  sum.unseen.add(more.unseen);
  auto plus = [](auto& to, const auto& from) {
    if (from) to = to.value_or(0) + *from;
  };
  plus(sum.work.ran_ns, more.work.ran_ns);
  plus(sum.work.minor_faults, more.work.minor_faults);
  plus(sum.work.major_faults, more.work.major_faults);
}

MeanwhileWatch::MeanwhileWatch(const Process& process, const std::string& root)
    : process_(process),
      scope_(MemoryScope::of(process, root)),
      machine_(lookAtMachine(process, root)),
      bell_(process, root) {}

void MeanwhileWatch::begin(int64_t now_ns) {
  is_reclaimed_ = false;
  unseen_ = unseenTouchesOf(process_);
  work_ = process_.work();
  (void)bell_.rang();
  began_ns_ = now_ns;
  began_.reset();
  if (auto now = scope_.look(); now.ok()) began_ = now.value();
  if (counted_) return;
  looked_ns_ = now_ns;
  counted_ = began_;
}

Meanwhile MeanwhileWatch::look(int64_t now_ns) {
  Meanwhile meanwhile{.cgroup = scope_.cgroup(),
                      .scans_machine = scope_.scansMachine(),
                      .limit_bytes = machine_.limit_bytes,
                      .limit_of = machine_.limit_of,
                      .unseen = unseen_};
  meanwhile.unseen.add(unseenTouchesOf(process_));  // a device may have come in the window
  Work work = process_.work();
  meanwhile.work = work - std::exchange(work_, work);
  if (machine_.limit_bytes > 0)
    meanwhile.charged_bytes = chargedBytes(machine_.limit_of, scope_.root());
  meanwhile.memory = scope_.memory();
  meanwhile.pressure.window_ns = now_ns - std::exchange(looked_ns_, now_ns);
  meanwhile.within.window_ns = now_ns - std::exchange(began_ns_, now_ns);
  // If it cannot be read: what became of the process is reported elsewhere.
  if (auto now = scope_.look(); now.ok()) {
    if (counted_) meanwhile.pressure.counted = now.value() - *counted_;
    if (began_) meanwhile.within.counted = now.value() - *began_;
    counted_ = began_ = now.value();
  }
  is_reclaimed_ |=
      shortageOf(meanwhile.within.counted, meanwhile.within.window_ns) != Shortage::kNone;
  meanwhile.is_reclaimed = is_reclaimed_;
  return meanwhile;
}

}  // namespace tidegauge::wss
