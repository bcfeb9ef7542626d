// Rows by number, in order from 0. Old rows may be forgotten: their numbers stay, their memory is
// freed.
//
//   Rows<Stack> stacks; uint32_t id = stacks.add(frames); …
//   stacks.forget(id);  stacks.find(id) → nullptr
//
// size() is the next number, as in a vector that never shrinks; a loop visits the kept rows. Cost:
// O(log kept) each.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace tidegauge::record {

template <class T>
class Rows {
 public:
  uint32_t add(T row) {
    rows_.emplace_hint(rows_.end(), next_, std::move(row));
    return next_++;
  }
  void push_back(T row) { add(std::move(row)); }
  // nullptr: forgotten, or never existed.
  const T* find(uint32_t number) const {
    auto found = rows_.find(number);
    return found == rows_.end() ? nullptr : &found->second;
  }
  bool contains(uint32_t number) const { return rows_.contains(number); }
  // A kept row; for any other number an empty row, which does not store it.
  const T& operator[](size_t number) const {
    static const T kEmpty{};
    const T* found = find(static_cast<uint32_t>(number));
    return found != nullptr ? *found : kEmpty;
  }
  T& operator[](size_t number) {
    auto found = rows_.find(static_cast<uint32_t>(number));
    if (found != rows_.end()) return found->second;
    return forgotten_ = T{};
  }
  size_t size() const { return next_; }
  size_t kept() const { return rows_.size(); }
  void forget(uint32_t number) { rows_.erase(number); }
  template <class Is>
  void forgetIf(const Is& is) {
    std::erase_if(rows_, [&](const auto& entry) { return is(entry.first, entry.second); });
  }

  template <class Base>
  struct Values : Base {
    explicit Values(Base it) : Base(it) {}
    auto& operator*() const { return Base::operator*().second; }
    auto* operator->() const { return &Base::operator*().second; }
    uint32_t number() const { return Base::operator*().first; }
  };
  template <class Base>
  Values(Base) -> Values<Base>;  // required by clang 14
  auto begin() const { return Values(rows_.begin()); }
  auto end() const { return Values(rows_.end()); }
  auto begin() { return Values(rows_.begin()); }
  auto end() { return Values(rows_.end()); }
  auto rbegin() const { return Values(rows_.rbegin()); }
  auto rend() const { return Values(rows_.rend()); }

 private:
  std::map<uint32_t, T> rows_;
  T forgotten_{};
  uint32_t next_ = 0;
};

}  // namespace tidegauge::record
