// CallBook: what the calls of one process come down to, call after call: its ledger, the rows of
// its events, the calls that were refused, the driver's answers.
//
//   CallBook book;
//   book.begin(tables, run, process);      names, launches and the driver's figures of this reading
//   book.take(call, is_carried) …     in order of end_ns
//   book.finish(…)                    launches after the last call
//
// A recording that grows keeps its book. Its latest calls are not settled: a call that returns late
// may have to come before them (a call that frees counts from its beginning). So they are taken
// after mark(), and rollBack() undoes them:
//
//   settled calls ────────────► mark() ── the latest calls ──► the trace of this reading
//                                 ▲                              │
//                                 └───────── rollBack() ◄────────┘
//
// Cost: about 0.6 µs per call; mark() and rollBack() O(live + what was taken since).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "readers/recording/drivers_figure.h"
#include "readers/recording/tables/driver_rows.h"
#include "readers/recording/tables/event_rows.h"
#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// A stack of the recording, or the name of a refused function, in the order of their first use:
// that is how the trace numbers them, so numbers stay when more is recorded.
struct FirstUse {
  uint32_t stack = model::kNoStackOfCall;
  uint16_t function = 0;
  bool is_function = false;
};

// Refused calls that are alike.
struct Refusal {
  uint16_t function = 0;
  int32_t code = 0;
  uint64_t size_bytes = 0;
  uint32_t stack = model::kNoStackOfCall;
  int32_t device = 0;
  model::MemoryKind kind{};
  int64_t first_ns = 0;
  uint64_t count = 0;
};

class CallBook {
 public:
  // `with_driver`: also the driver's memory. Such a book cannot be marked.
  explicit CallBook(bool with_driver);
  CallBook(const CallBook&) = delete;  // the ledger writes into it
  CallBook& operator=(const CallBook&) = delete;

  // False: something that belongs before the calls that were taken is new, so they must be taken
  // anew.
  bool begin(const RecordedTables& tables, const model::RecordedRun& run,
             const RecordedProcess& process);
  void take(const model::MemoryCall& call, bool is_carried);
  void finish();
  void mark();
  void rollBack();  // without mark(): nothing

  // nullptr: no call.
  const model::ProcessLedger* ledger() const { return ledger_.get(); }
  const EventRows& rows() const { return rows_; }
  size_t takeFirstChange() { return rows_.takeFirstChange(); }
  // May have been more than once.
  const std::vector<FirstUse>& uses() const { return uses_; }
  const std::vector<Refusal>& refusals() const { return counts_.refusals; }
  const model::DriversAnswers& answers() const { return answers_; }
  bool hasBlocks() const { return counts_.has_blocks; }
  const std::optional<model::DriversFigure>& driversFigure() const { return figure_; }
  DriverRows& driverRows() { return *driver_rows_; }
  // Of the last call that was not carried; calls before it come too late.
  int64_t newest_ns() const { return counts_.newest_ns; }

 private:
  using RefusalKey = std::tuple<uint16_t, int32_t, uint64_t, uint32_t, int32_t, model::MemoryKind>;
  // What mark() copies beside the ledger and the rows.
  struct Counts {
    std::vector<Refusal> refusals;
    std::map<RefusalKey, size_t> refusal_rows;
    DriversFigures figures;
    size_t launches = 0;                  // whose stacks are among the uses
    int64_t newest_ns = INT64_MIN;        // of calls that were not carried
    int64_t newest_taken_ns = INT64_MIN;  // of all
    int64_t newest_effect_ns = INT64_MIN;
    bool has_blocks = false;
    bool has_unknown_launch_stack = false;
  };
  struct Marked {
    bool is_marked = false;
    std::unique_ptr<model::ProcessLedger> ledger;
    Counts counts;
    size_t uses = 0, answers = 0;
  };

  void onEffect(const model::Effect& effect);
  void useLaunchStacks(int64_t until_ns);
  void useStack(uint32_t stack);
  void addRefusal(const model::Effect& effect);
  void addAnswer(const model::Effect& effect);
  bool launchesContinue() const;

  const RecordedTables* tables_ = nullptr;
  const model::RecordedLaunchEvents* launch_events_ = nullptr;
  model::EffectSink sink_;
  std::unique_ptr<model::ProcessLedger> ledger_;
  std::unique_ptr<DriverRows> driver_rows_;  // only if asked for
  EventRows rows_;
  std::vector<FirstUse> uses_;
  std::vector<bool> is_used_;  // by stack
  model::DriversAnswers answers_;
  Counts counts_;
  std::optional<model::DriversFigure> figure_;
  Marked marked_;
};

}  // namespace tidegauge::readers::recording
