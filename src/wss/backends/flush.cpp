#include "wss/backends/flush.h"

#include "wss/pages/own_page.h"

namespace tidegauge::wss {
namespace {

bool hasSoftDirty() {
  // If it cannot be told: do no harm.
  return ((OwnPage().pagemapEntry().value_or(~uint64_t{0}) >> 55) & 1) != 0;
}

}  // namespace

Flush flushOfThisKernel() { return hasSoftDirty() ? Flush::kNone : Flush::kFree; }

}  // namespace tidegauge::wss
