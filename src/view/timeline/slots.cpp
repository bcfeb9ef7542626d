#include "view/timeline/slots.h"

#include <algorithm>

namespace tidegauge::view {
uint8_t stackSlot(const analysis::AnalysedTrace& analysed, uint32_t row) {
  if (analysed.trace.allocations.has(row, model::kStackIsOfFree)) return kSlotUnknown;
  uint8_t slot = analysed.labels.colourSlot(analysed.trace.allocations.stack[row]);
  return slot == 0 ? kSlotUnknown : slot;
}

uint8_t categorySlot(const analysis::AnalysedTrace& analysed, uint32_t row) {
  return static_cast<uint8_t>(analysed.categories->of(row));
}

std::string_view categoryName(uint8_t slot) {
  return analysis::title(static_cast<analysis::Category>(std::min(slot, kSlotUnknown)));
}

}  // namespace tidegauge::view
