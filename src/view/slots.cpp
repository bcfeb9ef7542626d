#include "view/slots.h"

#include <algorithm>
#include <array>

namespace tidegauge::view {
namespace {

struct Named {
  std::string_view category;
  uint8_t slot;
};
constexpr std::array<Named, 8> kCategories = {{{"parameter", 1},
                                               {"activation", 2},
                                               {"input", 3},
                                               {"temporary", 4},
                                               {"autograd_detail", 5},
                                               {"optimizer_state", 7},
                                               {"gradient", 8},
                                               {"unknown", kSlotUnknown}}};

bool equalWithoutCase(std::string_view text, std::string_view lower) {
  auto same = [](char c, char l) { return (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) == l; };
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), same);
}

}  // namespace

uint8_t stackSlot(const analysis::AnalysedTrace& analysed, uint32_t row) {
  if (analysed.trace.allocations.has(row, model::kStackIsOfFree)) return kSlotUnknown;
  uint8_t slot = analysed.labels.colourSlot(analysed.trace.allocations.stack[row]);
  return slot == 0 ? kSlotUnknown : slot;
}

uint8_t categorySlot(std::string_view category) {
  if (category.empty()) return kSlotUnknown;
  for (const Named& known : kCategories) {
    if (equalWithoutCase(category, known.category)) return known.slot;
  }
  return kSlotOther;
}

uint8_t categorySlot(const model::Trace& trace, uint32_t row) {
  const auto& category = trace.allocations.category;
  return category.empty() ? kSlotUnknown : categorySlot(trace.strings.text(category[row]));
}

std::string_view categoryName(uint8_t slot) {
  for (const Named& known : kCategories) {
    if (known.slot == slot) return known.category;
  }
  return "other";
}

}  // namespace tidegauge::view
