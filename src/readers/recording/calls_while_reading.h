// CallsWhileReading: takes calls into their books while later rows are read, on another thread. So
// the calls of a long recording are never in memory all at once.
//
//   rows    ├ 65,536 ┤├ 65,536 ┤├ 65,536 ┤ …
//   books             ├ calls  ┤├ calls  ┤ …  those that are settled
//
// A call is settled if it is older than the newest ones: one that returns late may belong before
// those. Cost: about 0.6 µs per call on the other thread.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "readers/recording/call_book.h"
#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// Takes the first calls of `process` into its book, as far as one may assume that no later row
// comes before them, and removes them. False: one belongs before what the book has taken.
bool settleCalls(CallBook& book, RecordedProcess& process);

class CallsWhileReading {
 public:
  using Books = std::vector<std::unique_ptr<CallBook>>;
  CallsWhileReading(Books& books, bool with_driver) : books_(books), with_driver_(with_driver) {}
  ~CallsWhileReading();

  // Moves the calls out of `processes`. False: as settleCalls().
  bool take(const RecordedTables& tables, const model::RecordedRun& run,
            std::vector<RecordedProcess>& processes);
  // Returns those that are not settled. False: as settleCalls().
  bool finish(std::vector<RecordedProcess>& processes);

 private:
  void collect(std::vector<RecordedProcess>& processes);
  bool wait();

  Books& books_;
  bool with_driver_ = false;
  std::vector<RecordedProcess> waiting_;  // their calls alone
  std::future<bool> settled_;
};

}  // namespace tidegauge::readers::recording
