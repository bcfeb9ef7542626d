// RecordingBooks: the ledger and the live figures of a recording that grows, from its first row on.
//
//   RecordingBooks books(held_file);
//   books.read(file);              the rows that came since the last time, at most kMaxRowsPerLook
//   books.look(file, wish, true)   → LiveSnapshot, as the recorder's own page shows it
//
// A table that cannot be read is reported in the snapshot once and then left out: the figures that
// do not need it stand. Cost: read() O(new rows); look() as LiveBook::look().
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ledger/ledger.h"
#include "model/live/live_book.h"
#include "model/live/live_snapshot.h"
#include "readers/recording/file/held_file.h"
#include "readers/recording/file/sqlite_file.h"
#include "readers/recording/file/sum_limit.h"
#include "readers/recording/file/table_tails.h"
#include "readers/recording/tables/call_row.h"

namespace tidegauge::readers::recording {

class RecordingBooks {
 public:
  static constexpr uint64_t kMaxRowsPerLook = 200'000;

  explicit RecordingBooks(std::shared_ptr<const HeldFile> of) : of_(std::move(of)) {}
  RecordingBooks(const RecordingBooks&) = delete;  // the ledger writes into book_
  RecordingBooks& operator=(const RecordingBooks&) = delete;

  const HeldFile& of() const { return *of_; }
  base::Status read(SqliteFile& file);
  model::LiveSnapshot look(SqliteFile& file, const model::LiveWish& wish, bool has_writer) const;

 private:
  base::Status readMeta(SqliteFile& file);
  base::Status readFunctions(SqliteFile& file);
  base::Status readProcesses(SqliteFile& file);
  base::Status readKernels(SqliteFile& file);
  base::Status readCalls(SqliteFile& file);
  base::Status readLaunches(SqliteFile& file);
  base::Status readCopies(SqliteFile& file);
  base::Status readLosses(SqliteFile& file);
  base::Status readUnwatched(SqliteFile& file);
  // Reports a table that `read` cannot read, and leaves it out from then on.
  template <class Read>
  void tolerate(SqliteFile& file, const char* table,
                std::initializer_list<std::string_view> columns, const Read& read);
  void endProcesses();
  double readShare() const;
  static model::StackWords wordsOf(SqliteFile& file, uint32_t stack);

  struct Limits {  // so that no sum of rows overflows
    SumLimit launches, losses;
    std::array<SumLimit, 4> copies;  // calls, bytes, time, failures
  };

  std::shared_ptr<const HeldFile> of_;
  model::LiveBook book_;
  model::Ledger ledger_{[this](const model::Effect& effect) { book_.take(effect); }};
  TableTails tails_;
  Limits limits_;
  Functions functions_;
  std::vector<std::string> function_names_;
  std::map<int64_t, std::string> kernels_;
  std::map<uint32_t, std::optional<int64_t>> running_;  // when it ended, as soon as that is known
  std::set<std::string_view> unread_;                   // tables
  uint64_t calls_ = 0, bad_rows_ = 0;
  int64_t carried_calls_ = 0;
  std::optional<int64_t> ended_ns_;
};

}  // namespace tidegauge::readers::recording
