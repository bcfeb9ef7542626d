#include "readers/recording/growing_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "model/lives/lives.h"
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

}  // namespace

GrowingRecording::GrowingRecording(std::string path, Wanted wanted)
    : path_(std::move(path)), wanted_(wanted) {
  forget();
}

GrowingRecording::~GrowingRecording() = default;

void GrowingRecording::forget() {
  of_ = nullptr;
  books_.clear();
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
    BesideTrace beside;
    model::Trace trace =
        buildTrace(tables, process, book, process.work, beside, wanted_.driver_memory);
    if (!wanted_.is_followed && i < books_.size()) books_[i] = nullptr;
    process.work.run = tables.run;
    process.work.process_id = process.id;
    trace.work = std::make_shared<const model::RecordedWork>(std::move(process.work));
    trace.source.format = formatOf(*tables.run, opened.has_writer, opened.is_open);
    trace.source.file_bytes = trace.source.data_bytes = opened.file.fileBytes();
    model::buildLives(trace, beside.carried);
    joinDriverBlocks(trace, beside.is_driver_block);
    traces.push_back(std::move(trace));
  }
  if (wanted_.is_followed) of_ = opened.held;
  return Traces(std::move(traces));
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
