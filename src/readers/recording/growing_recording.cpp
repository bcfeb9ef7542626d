#include "readers/recording/growing_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "model/lives/lives.h"
#include "model/lives/recording_issues.h"
#include "readers/recording/build_trace.h"
#include "readers/recording/calls_while_reading.h"
#include "readers/recording/driver_blocks.h"

namespace tidegauge::readers::recording {
namespace {

constexpr size_t kMaxUnwatched = 100;

// The state that a reader must know before it trusts the end. A killed recorder leaves its journal.
std::string formatOf(const model::RecordedRun& run, bool has_writer, bool is_open) {
  std::string format = "recording of GPU memory calls";
  if (run.ended_ns || !(has_writer || is_open)) return format;
  return format + (has_writer ? ", still being written" : ", without the recorder's end");
}

// Programs of which nothing was watched made no calls. If no other did, each is a process, so that
// it has a name.
void addUnwatched(RecordedTables& tables) {
  const model::RecordedRun& run = *tables.run;
  if (!tables.processes.empty()) return;
  std::set<int64_t> known;
  for (size_t i = 0; i < run.unwatched.size(); ++i) {
    bool is_whole = !run.unwatched.library[i].valid() && !run.unwatched.function[i].valid() &&
                    run.unwatched.begin_ns[i] == model::kNotRecorded &&
                    run.unwatched.end_ns[i] == model::kNotRecorded;
    int64_t id = run.unwatched.process_id[i];
    auto row = model::rowOf(run.processes, id);
    if (!is_whole || !row || !known.insert(id).second) continue;
    if (known.size() > kMaxUnwatched) return;
    std::string name(run.strings.text(run.processes.name[*row]));
    tables.processes.push_back({id, run.processes.pid[*row], std::move(name), {}, {}});
  }
}

// False: the lives are to be built anew, together.
bool continueLives(model::Trace& trace, const BesideTrace& beside, TraceBook& kept) {
  kept.lives.begin(trace);
  bool has_first = !trace.devices.empty() && trace.devices[0].steps() > 0 &&
                   trace.devices[0].ordinal == kept.first_device;
  if (!has_first || !beside.carried.empty()) return false;
  trace.final_segments.segment.assign(trace.final_segments.size(), model::SegmentId());
  trace.final_blocks.allocation.assign(trace.final_blocks.size(), model::AllocationId());
  model::Device& first = trace.devices[0];
  if (!kept.lives.run(trace, first, kept.columns[kept.first].is_driver_block, kept.settledSteps()))
    return false;
  for (size_t i = 1; i < trace.devices.size(); ++i) {
    model::buildLivesOf(trace, trace.devices[i], beside.carried);
    joinDriverBlocksOf(trace, trace.devices[i], beside.is_driver_block, first.steps());
  }
  model::noteOverflow(trace);
  return true;
}

void buildAllLives(model::Trace& trace, BesideTrace& beside, const TraceBook* kept) {
  if (kept != nullptr) {
    trace.allocations = {};
    trace.segments = {};
    trace.pieces = {};
    if (!kept->columns.empty()) {
      const std::vector<bool>& first = kept->columns[kept->first].is_driver_block;
      beside.is_driver_block.insert(beside.is_driver_block.begin(), first.begin(), first.end());
    }
  }
  model::buildLives(trace, beside.carried);
  joinDriverBlocks(trace, beside.is_driver_block);
}

}  // namespace

GrowingRecording::GrowingRecording(std::string path, Wanted wanted)
    : path_(std::move(path)), wanted_(wanted) {
  forget();
}

GrowingRecording::~GrowingRecording() = default;

void GrowingRecording::forget() {
  of_ = nullptr;
  books_.clear();
  kept_.clear();
  tables_ = std::make_unique<TablesReader>();
}

base::Result<std::vector<model::Trace>> GrowingRecording::read(const Progress& progress) {
  TG_ASSIGN_OR_RETURN(OpenedFile opened, openFile(path_));
  // Until it is read to the end: a reading that was broken off is not continued.
  std::shared_ptr<const HeldFile> of = std::exchange(of_, nullptr);
  if (of == nullptr || of != opened.held) forget();
  auto read = readMore(opened, progress);
  if (read.ok() && !read.value()) {
    forget();
    // Perhaps a call belongs before those that were taken while later rows were read.
    takes_while_reading_ = false;
    read = readMore(opened, progress);
    takes_while_reading_ = true;
  }
  lent_.clear();
  if (!read.ok()) {
    forget();
    return std::move(read.error());
  }
  return std::move(*read.value());
}

base::Result<GrowingRecording::Traces> GrowingRecording::readMore(OpenedFile& opened,
                                                                  const Progress& progress) {
  if (!tables_->wasRead()) ++from_the_beginning_;
  TG_ASSIGN_OR_RETURN(bool fits, readTables(opened, progress));
  if (!fits || !takeCalls()) return Traces();
  RecordedTables& tables = tables_->tables();
  addUnwatched(tables);
  if (tables.processes.empty()) tables.processes.push_back({kNoProcess, 0, "no process", {}, {}});
  std::vector<model::Trace> traces;
  traces.reserve(tables.processes.size());
  for (size_t i = 0; i < tables.processes.size(); ++i) {
    RecordedProcess& process = tables.processes[i];
    CallBook none(wanted_.driver_memory);
    CallBook& book = i < books_.size() ? *books_[i] : none;
    if (i >= books_.size()) {
      book.begin(tables, *tables.run, process);
      book.finish();
    }
    traces.push_back(traceOf(i, book, opened));
  }
  if (wanted_.is_followed) of_ = opened.held;
  return Traces(std::move(traces));
}

model::Trace GrowingRecording::traceOf(size_t process, CallBook& book, const OpenedFile& opened) {
  RecordedTables& tables = tables_->tables();
  RecordedProcess& of = tables.processes[process];
  bool has_book = process < books_.size();
  TraceBook* kept = has_book && wanted_.takes_back ? keptFor(process, book) : nullptr;
  BesideTrace beside;
  model::Trace trace = buildTrace(tables, of, book, of.work, beside, wanted_.driver_memory, kept);
  if (!wanted_.is_followed && has_book) books_[process] = nullptr;
  of.work.run = tables.run;
  of.work.process_id = of.id;
  trace.work = std::make_shared<const model::RecordedWork>(std::move(of.work));
  trace.source.format = formatOf(*tables.run, opened.has_writer, opened.is_open);
  trace.source.file_bytes = trace.source.data_bytes = opened.file.fileBytes();
  if (kept != nullptr && continueLives(trace, beside, *kept)) {
    continued_traces_ += kept->has_trace ? 1 : 0;
    kept->continuation = kept->lives.continuation();
    if (kept->has_trace) kept->continuation.of = kept->work;
    if (!kept->settled_work) kept->settled_work = std::make_shared<model::SettledWork>();
    kept->continuation.settled_work = kept->settled_work;
    kept->work = trace.work;
    kept->has_trace = false;
    kept->trace = {};
    return trace;
  }
  buildAllLives(trace, beside, kept);
  if (kept != nullptr) {
    ++kept_[process].failures;
    kept_[process].books.pop_back();
    kept_[process].forgetSettledWork();
  }
  return trace;
}

void GrowingRecording::Kept::forgetSettledWork() {
  auto shared = std::make_shared<model::SettledWork>();
  for (auto& book : books) book->settled_work = shared;
}

// The book of a trace that nobody reads any more, or a new one; the last of its process. Null: its
// lives are not continued.
TraceBook* GrowingRecording::keptFor(size_t process, CallBook& book) {
  constexpr size_t kMaxBooks = 4;  // three take turns in `view`; one may be read for longer
  constexpr unsigned kMaxFailures = 3;
  kept_.resize(std::max(kept_.size(), process + 1));
  auto& [books, failures] = kept_[process];
  size_t first_change = book.takeFirstChange();
  if (std::erase_if(books, [&](const auto& it) { return it->rows.rows > first_change; }) > 0)
    kept_[process].forgetSettledWork();
  if (failures >= kMaxFailures || book.rows().now().has_outside_blocks) {
    books.clear();
    return nullptr;
  }
  auto best = books.end();
  for (auto it = books.begin(); it != books.end(); ++it) {
    bool is_better = best == books.end() || (*it)->rows.rows >= (*best)->rows.rows;
    if ((*it)->has_trace && is_better) best = it;
  }
  if (best != books.end()) {
    std::rotate(best, best + 1, books.end());
    return books.back().get();
  }
  std::unique_ptr<TraceBook> made = copyOfLent(books);
  if (made == nullptr) made = std::make_unique<TraceBook>();
  if (books.size() == kMaxBooks) books.erase(books.begin());
  books.push_back(std::move(made));
  return books.back().get();
}

std::unique_ptr<TraceBook> GrowingRecording::copyOfLent(
    const std::vector<std::unique_ptr<TraceBook>>& books) const {
  for (auto book = books.rbegin(); book != books.rend(); ++book) {
    for (const model::Trace* trace : lent_)
      if ((*book)->work == trace->work) return copyOf(**book, *trace);
  }
  return nullptr;
}

const model::Continuation* GrowingRecording::continuationOf(const model::Trace& trace) const {
  for (const Kept& kept : kept_) {
    for (const auto& book : kept.books) {
      bool is_it = !book->has_trace && book->work == trace.work && book->continuation.of;
      if (is_it) return &book->continuation;
    }
  }
  return nullptr;
}

void GrowingRecording::takeBack(model::Trace&& trace) {
  for (Kept& kept : kept_) {
    for (auto& book : kept.books) {
      if (book->has_trace || book->work != trace.work) continue;
      book->trace = std::move(trace);
      book->has_trace = true;
      return;
    }
  }
}

base::Result<bool> GrowingRecording::readTables(OpenedFile& opened, const Progress& progress) {
  bool is_abandoned = opened.is_open && !opened.has_writer;
  // The driver's memory needs all calls at once.
  bool takes = takes_while_reading_ && !tables_->wasRead() && !wanted_.driver_memory;
  CallsWhileReading early(books_, wanted_.driver_memory);
  if (takes) {
    tables_->takeWhileReading(
        [&](const model::RecordedRun& run, auto& processes) {
          return early.take(tables_->tables(), run, processes);
        },
        wanted_.rows_at_once);
  }
  base::Result<bool> fits = tables_->read(opened.file, progress, is_abandoned);
  tables_->takeWhileReading({}, 0);
  if (!fits.ok() || !fits.value() || !takes) return fits;
  return early.finish(tables_->tables().processes);
}

// False: a call belongs before those that are settled.
bool GrowingRecording::takeCalls() {
  RecordedTables& tables = tables_->tables();
  for (size_t i = 0; i < tables.processes.size(); ++i) {
    RecordedProcess& process = tables.processes[i];
    bool is_new = i >= books_.size();
    if (is_new && process.calls.empty()) break;  // it only launched or copied, as all that follow
    if (is_new) {
      books_.push_back(std::make_unique<CallBook>(wanted_.driver_memory));
    } else {
      books_[i]->rollBack();
    }
    CallBook& book = *books_[i];
    if (!book.begin(tables, *tables.run, process)) return false;
    // A reading of the driver's memory has no other before it, and needs the calls afterwards.
    if (!wanted_.driver_memory && !settleCalls(book, process)) return false;
    if (wanted_.is_followed) book.mark();
    size_t taken = 0;
    for (const model::MemoryCall& call : process.calls) book.take(call, taken++ < process.carried);
    book.finish();
    bool is_over = !wanted_.is_followed && !wanted_.driver_memory;
    if (is_over) process.calls = {};
  }
  return true;
}

}  // namespace tidegauge::readers::recording
