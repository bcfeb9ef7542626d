#include "report/words/peak_words.h"

#include <fmt/format.h>

#include <vector>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::report {

std::string peakReservedWords(uint64_t after_bytes, uint64_t before_bytes, bool is_at_least) {
  std::string after = base::humanBytes(after_bytes), before = base::humanBytes(before_bytes);
  if (after_bytes == before_bytes)
    return is_at_least ? fmt::format("peak reserved memory is at least the {} of before", before)
                       : fmt::format("peak reserved memory is {}, as before", after);
  if (after == before) {
    std::vector<std::string> sizes = base::inOneUnit({after_bytes, before_bytes});
    after = sizes[0];
    before = sizes[1];
  }
  if (after == before) {
    after = base::withCommas(after_bytes) + " B";
    before = base::withCommas(before_bytes) + " B";
  }
  return fmt::format("peak reserved memory is {}{} instead of {}", after,
                     is_at_least ? " or more" : "", before);
}

}  // namespace tidegauge::report
