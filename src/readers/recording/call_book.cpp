#include "readers/recording/call_book.h"

#include <algorithm>
#include <limits>

namespace tidegauge::readers::recording {

CallBook::CallBook(bool with_driver)
    : sink_([this](const model::Effect& effect) { onEffect(effect); }) {
  if (with_driver) driver_rows_ = std::make_unique<DriverRows>();
}

bool CallBook::begin(const RecordedTables& tables, const model::RecordedRun& run,
                     const RecordedProcess& process) {
  tables_ = &tables;
  launch_events_ = &process.work.launch_events;
  is_used_.resize(tables.stack_begin.size() - 1);
  figure_.reset();
  bool continues = counts_.figures.continueWith(run, process.id, counts_.newest_taken_ns);
  return continues && launchesContinue();
}

// The launches whose stacks were numbered before are still the first ones.
bool CallBook::launchesContinue() const {
  if (counts_.has_unknown_launch_stack) return false;
  const std::vector<int64_t>& times = launch_events_->time_ns;
  if (counts_.launches > times.size()) return false;
  auto after = std::upper_bound(times.begin(), times.end(), counts_.newest_effect_ns);
  return static_cast<size_t>(after - times.begin()) == counts_.launches;
}

void CallBook::take(const model::MemoryCall& call, bool is_carried) {
  if (counts_.figures.isDue(call.end_ns)) counts_.figures.upTo(call.end_ns, ledger_.get());
  if (!ledger_) ledger_ = std::make_unique<model::ProcessLedger>(0, sink_);
  counts_.newest_taken_ns = std::max(counts_.newest_taken_ns, call.end_ns);
  if (is_carried) {
    ledger_->takeCarried(call);
    return;
  }
  counts_.newest_ns = std::max(counts_.newest_ns, call.end_ns);
  ledger_->take(call);
}

void CallBook::finish() {
  useLaunchStacks(std::numeric_limits<int64_t>::max());
  if (ledger_) figure_ = counts_.figures.most(ledger_.get());
}

void CallBook::onEffect(const model::Effect& effect) {
  rows_.take(effect);
  useLaunchStacks(effect.time_ns);
  useStack(effect.stack);
  if (driver_rows_) driver_rows_->take(effect);
  if (effect.what == model::What::kFailure) addRefusal(effect);
  if (effect.what == model::What::kAnswered) addAnswer(effect);
  counts_.has_blocks |= effect.what == model::What::kBlock;
}

void CallBook::useLaunchStacks(int64_t until_ns) {
  counts_.newest_effect_ns = std::max(counts_.newest_effect_ns, until_ns);
  const model::RecordedLaunchEvents& events = *launch_events_;
  for (; counts_.launches < events.size() && events.time_ns[counts_.launches] <= until_ns;
       ++counts_.launches) {
    model::StackId stack = events.stack[counts_.launches];  // the file's number
    if (!stack.valid()) continue;
    auto row = tables_->stack_rows.find(stack.value);
    if (row == tables_->stack_rows.end()) {
      counts_.has_unknown_launch_stack = true;
    } else {
      useStack(row->second);
    }
  }
}

void CallBook::useStack(uint32_t stack) {
  if (stack == model::kNoStackOfCall || is_used_[stack]) return;
  is_used_[stack] = true;
  uses_.push_back({.stack = stack});
}

void CallBook::addRefusal(const model::Effect& effect) {
  auto key = std::tuple(effect.function, effect.code, effect.size_bytes, effect.stack,
                        effect.device, effect.kind);
  auto [at, is_new] = counts_.refusal_rows.try_emplace(key, counts_.refusals.size());
  if (!is_new) {
    ++counts_.refusals[at->second].count;
    return;
  }
  uses_.push_back({.function = effect.function, .is_function = true});
  counts_.refusals.push_back({effect.function, effect.code, effect.size_bytes, effect.stack,
                              effect.device, effect.kind, effect.time_ns, 1});
}

void CallBook::addAnswer(const model::Effect& effect) {
  answers_.time_ns.push_back(effect.time_ns);
  answers_.device.push_back(effect.device);
  answers_.free_bytes.push_back(effect.address);
  answers_.total_bytes.push_back(effect.size_bytes);
}

void CallBook::mark() {
  rows_.mark();
  marked_.is_marked = true;
  marked_.ledger = ledger_ ? std::make_unique<model::ProcessLedger>(*ledger_) : nullptr;
  marked_.counts = counts_;
  marked_.uses = uses_.size();
  marked_.answers = answers_.size();
}

void CallBook::rollBack() {
  if (!marked_.is_marked) return;
  rows_.rollBack();
  ledger_ = std::move(marked_.ledger);
  counts_ = std::move(marked_.counts);
  for (size_t i = marked_.uses; i < uses_.size(); ++i)
    if (!uses_[i].is_function) is_used_[uses_[i].stack] = false;
  uses_.resize(marked_.uses);
  answers_.time_ns.resize(marked_.answers);
  answers_.device.resize(marked_.answers);
  answers_.free_bytes.resize(marked_.answers);
  answers_.total_bytes.resize(marked_.answers);
  marked_ = {};
}

}  // namespace tidegauge::readers::recording
