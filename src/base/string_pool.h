// Interned strings: equal texts share one StringId; texts live in one arena, so a StringId costs
// 4 bytes wherever it is kept. Lookup O(1), memory = distinct text + 8 bytes each.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace tidegauge::base {

using StringId = Id<struct StringTag>;

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) noexcept;
  StringPool& operator=(StringPool&&) noexcept;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;
  StringPool clone() const;  // the same texts under the same ids

  // The id of `text`, added if new.
  StringId intern(std::string_view text);
  // The id of `text` if it is in the pool, else an invalid id.
  StringId find(std::string_view text) const;
  // Valid until the next intern(). Empty for an invalid id.
  std::string_view text(StringId id) const;
  size_t size() const { return ends_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    const StringPool* pool;
    size_t operator()(StringId id) const;
    size_t operator()(std::string_view text) const;
  };
  struct Equal {
    using is_transparent = void;
    const StringPool* pool;
    bool operator()(StringId a, StringId b) const { return a == b; }
    bool operator()(std::string_view a, StringId b) const { return a == pool->text(b); }
    bool operator()(StringId a, std::string_view b) const { return b == pool->text(a); }
  };
  using Set = boost::unordered_flat_set<StringId, Hash, Equal>;

  void rebuildSet();

  std::string arena_;
  std::vector<uint64_t> ends_;  // end of text i in the arena; its begin is the end of text i−1
  Set set_;
};

}  // namespace tidegauge::base
