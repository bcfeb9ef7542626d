#include "server/session.h"

namespace tidegauge::server {

uint32_t MarkStore::add(std::shared_ptr<const view::MarkSet> mark) {
  std::lock_guard lock(mutex_);
  entries_.push_back({next_, std::move(mark)});
  if (entries_.size() > kKept) entries_.pop_front();
  return next_++;
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
    entry = &entries_[key];  // stays where it is
  }
  std::call_once(entry->once, [&] { entry->text = compute(); });
  return entry->text;
}

OpenFile::OpenFile(size_t file_id, std::unique_ptr<const analysis::AnalysedTrace> trace)
    : id(file_id), analysed(std::move(trace)), database(*analysed), marks(file_id) {}

const view::Siblings& OpenFile::siblings() {
  std::call_once(siblings_once_,
                 [&] { siblings_ = std::make_unique<view::Siblings>(analysed->trace); });
  return *siblings_;
}

Session openSession(std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces) {
  Session session;
  for (auto& trace : traces) {
    session.push_back(std::make_unique<OpenFile>(session.size(), std::move(trace)));
  }
  return session;
}

}  // namespace tidegauge::server
