#include "base/string_pool.h"

#include <xxhash.h>

namespace tidegauge::base {

size_t StringPool::Hash::operator()(std::string_view text) const {
  return XXH3_64bits(text.data(), text.size());
}
size_t StringPool::Hash::operator()(StringId id) const { return (*this)(pool->text(id)); }

StringPool::StringPool() : set_(0, Hash{this}, Equal{this}) {}

StringPool::StringPool(StringPool&& other) noexcept
    : arena_(std::move(other.arena_)),
      ends_(std::move(other.ends_)),
      set_(0, Hash{this}, Equal{this}) {
  rebuildSet();
}

StringPool& StringPool::operator=(StringPool&& other) noexcept {
  arena_ = std::move(other.arena_);
  ends_ = std::move(other.ends_);
  set_ = Set(0, Hash{this}, Equal{this});
  rebuildSet();
  return *this;
}

StringPool StringPool::clone() const {
  StringPool copy;
  copy.arena_ = arena_;
  copy.ends_ = ends_;
  copy.rebuildSet();
  return copy;
}

// The set's hash refers to its pool, so a moved pool rebuilds the set. Pools move a few times per
// run and contain thousands of texts, not millions.
void StringPool::rebuildSet() {
  set_.reserve(ends_.size());
  for (size_t i = 0; i < ends_.size(); ++i) set_.insert(StringId(static_cast<uint32_t>(i)));
}

StringId StringPool::intern(std::string_view text) {
  if (auto found = set_.find(text); found != set_.end()) return *found;
  arena_.append(text);
  ends_.push_back(arena_.size());
  StringId id(static_cast<uint32_t>(ends_.size() - 1));
  set_.insert(id);
  return id;
}

StringId StringPool::find(std::string_view text) const {
  auto found = set_.find(text);
  return found == set_.end() ? StringId() : *found;
}

std::string_view StringPool::text(StringId id) const {
  if (!id.valid() || id.index() >= ends_.size()) return {};
  uint64_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
  return std::string_view(arena_).substr(begin, ends_[id.index()] - begin);
}

}  // namespace tidegauge::base
