#include "server/session/session.h"

#include <chrono>
#include <condition_variable>
#include <new>

#include "analysis/growth/growth.h"
#include "analysis/identities.h"
#include "report/words/file_names.h"

namespace tidegauge::server {

uint32_t MarkStore::add(std::shared_ptr<const view::MarkSet> mark) {
  std::lock_guard lock(mutex_);
  entries_.push_back({next_, std::move(mark)});
  if (entries_.size() > kKept) entries_.pop_front();
  return next_++;
}

void MarkStore::continueFrom(const MarkStore& before) {
  std::scoped_lock lock(mutex_, before.mutex_);
  // Space for questions about the older one; numbers of other files are far away.
  constexpr uint32_t kRoom = 1000;
  next_ = before.next_ + kRoom;
}

std::shared_ptr<const view::MarkSet> MarkStore::find(int64_t number) const {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.number == number) return entry.mark;
  }
  return nullptr;
}

std::string TextCache::get(const std::string& key, const std::function<std::string()>& compute) {
  Entry* entry = nullptr;
  {
    std::lock_guard lock(mutex_);
    entry = &entries_[key];  // its address never changes
  }
  std::call_once(entry->once, [&] { entry->text = compute(); });
  return entry->text;
}

OpenFile::OpenFile(size_t file_id, std::string short_name,
                   std::unique_ptr<const analysis::AnalysedTrace> trace, const query::Whole& whole)
    : id(file_id), name(std::move(short_name)), analysed(std::move(trace)), marks(file_id) {
  tell(whole);
}

std::shared_ptr<const query::Database> OpenFile::database() const {
  std::lock_guard lock(database_mutex_);
  return database_;
}

void OpenFile::tell(const query::Whole& whole) {
  auto database = std::make_shared<const query::Database>(*analysed, query::Scope{}, whole);
  std::lock_guard lock(database_mutex_);
  database_.swap(database);
}

const view::Siblings& OpenFile::siblings() {
  std::call_once(siblings_once_,
                 [&] { siblings_ = std::make_unique<view::Siblings>(analysed->trace); });
  return *siblings_;
}

Session successorOf(const Session& session) {
  Session next;
  next.files = session.files;
  next.failed = session.failed;
  next.board = session.board;
  next.lives = session.lives;
  next.working_sets = session.working_sets;
  return next;
}

Session openSession(std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces,
                    std::vector<FailedFile> failed) {
  std::vector<std::string> paths;
  paths.reserve(traces.size());
  for (const auto& trace : traces) paths.push_back(trace->trace.source.name);
  std::vector<std::string> names = report::distinctNames(paths);
  std::vector<const analysis::AnalysedTrace*> all;
  all.reserve(traces.size());
  for (const auto& trace : traces) all.push_back(trace.get());
  analysis::WholeRecordings wholes = analysis::wholeRecordings(all);
  Session session;
  session.failed = std::move(failed);
  for (size_t i = 0; i < traces.size(); ++i) {
    query::Whole whole = analysis::wholeOf(wholes, *traces[i]);
    session.files.push_back(
        std::make_shared<OpenFile>(i, names[i], std::move(traces[i]), std::move(whole)));
  }
  warm(session, session.files);
  return session;
}

namespace {

constexpr std::chrono::milliseconds kFirstPicture(600);

}  // namespace

void warm(Session& session, const std::vector<std::shared_ptr<OpenFile>>& files) {
  std::vector<const analysis::AnalysedTrace*> opened, read_first;
  for (const auto& file : files) {
    opened.push_back(file->analysed.get());
    // A recording that grows is read again and again, on a machine that has other work.
    if (file->generation == 0) read_first.push_back(file->analysed.get());
  }
  auto compute = [opened, read_first](const std::stop_token& stop) {
    for (const analysis::AnalysedTrace* trace : opened) {
      if (stop.stop_requested()) return;
      if (trace->trace.allocations.size() > 0) trace->categories->of(0);
    }
    // The first picture has the processors for itself. An overview that is asked for earlier
    // computes the rest, too.
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, kFirstPicture, [] { return false; });
    for (const analysis::AnalysedTrace* trace : read_first) {
      for (const auto& device : trace->devices) {
        if (stop.stop_requested()) return;
        analysis::identitiesOf(*trace, *device);
        if (stop.stop_requested()) return;
        analysis::findGrowth(*trace, *device);
      }
    }
  };
  session.warming = std::jthread([compute](const std::stop_token& stop) {
    try {
      compute(stop);
    } catch (const std::bad_alloc&) {  // whoever asks for it is refused then
    }
  });
}

}  // namespace tidegauge::server
