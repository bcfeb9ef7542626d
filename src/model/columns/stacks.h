// Stacks: one row per distinct stack, its frames innermost first. A frame takes two bytes as long
// as a file has at most 65,536 distinct ones, which nearly all have, and four from then on.
//
//   stack 0: [frame 3][frame 1]     stack 1: [frame 4][frame 3][frame 1]
//   begin:   0          2                     5
//
// Cost: 8 bytes per stack and 2 or 4 per frame of it. Files with C++ stacks have a hundred each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/memory/pages_ahead.h"

namespace tidegauge::model {

using FrameId = base::Id<struct FrameTag>;
using StackId = base::Id<struct StackTag>;

// The frames of one stack, or a part of them. Valid until a stack is added.
class FrameList {
 public:
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = FrameId;
    using difference_type = ptrdiff_t;
    using pointer = const FrameId*;
    using reference = FrameId;

    Iterator() = default;
    FrameId operator*() const { return (*this)[0]; }
    FrameId operator[](difference_type i) const {
      return FrameId(narrow_ != nullptr ? narrow_[at_ + i] : wide_[at_ + i]);
    }
    Iterator& operator+=(difference_type n) {
      at_ += n;
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    Iterator operator--(int) {
      Iterator before = *this;
      --*this;
      return before;
    }
    friend Iterator operator+(Iterator a, difference_type n) { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(Iterator a, Iterator b) { return a.at_ <=> b.at_; }

   private:
    friend class FrameList;
    const uint16_t* narrow_ = nullptr;
    const uint32_t* wide_ = nullptr;
    difference_type at_ = 0;
  };

  FrameList() = default;
  FrameList(const uint16_t* narrow, const uint32_t* wide, size_t size) : size_(size) {
    begin_.narrow_ = narrow;
    begin_.wide_ = wide;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  FrameId operator[](size_t i) const { return begin_[static_cast<ptrdiff_t>(i)]; }
  FrameId front() const { return (*this)[0]; }
  FrameId back() const { return (*this)[size_ - 1]; }
  Iterator begin() const { return begin_; }
  Iterator end() const { return begin_ + static_cast<ptrdiff_t>(size_); }
  FrameList first(size_t count) const { return part(0, count); }
  FrameList from(size_t place) const { return part(place, size_ - place); }

 private:
  FrameList part(size_t place, size_t count) const {
    FrameList list = *this;
    list.begin_ += static_cast<ptrdiff_t>(place);
    list.size_ = count;
    return list;
  }

  Iterator begin_;
  size_t size_ = 0;
};

class Stacks {
 public:
  size_t size() const { return begin_.size() - 1; }
  size_t depth(StackId id) const { return begin_[id.index() + 1] - begin_[id.index()]; }
  FrameList framesOf(StackId id) const {
    uint64_t begin = begin_[id.index()];
    return isWide() ? FrameList(nullptr, wide_.data() + begin, depth(id))
                    : FrameList(narrow_.data() + begin, nullptr, depth(id));
  }
  // A new row, even if another is equal.
  StackId add(std::span<const FrameId> frames);
  // Gives a frame of a stack that exists another value.
  void setFrame(StackId id, size_t place, FrameId frame);
  bool equals(StackId id, std::span<const FrameId> frames) const;

  // ---- all frames of all stacks as one column
  uint64_t totalFrames() const { return begin_.back(); }
  FrameId frameAt(uint64_t row) const { return FrameId(isWide() ? wide_[row] : narrow_[row]); }
  // size() + 1 offsets into that column.
  std::span<const uint64_t> begins() const { return begin_; }
  // Memory that is never touched costs nothing; growing copies everything.
  void reserveFrames(uint64_t frames) { narrow_.reserve(frames); }

 private:
  bool isWide() const { return !wide_.empty(); }
  bool addNarrow(std::span<const FrameId> frames);
  void widen();

  std::vector<uint64_t> begin_{0};
  std::vector<uint16_t> narrow_;
  base::PagesAhead pages_;      // of narrow_
  std::vector<uint32_t> wide_;  // instead of narrow_, once a frame does not fit
};

}  // namespace tidegauge::model
