#include "wss/backends/flush.h"

#include "wss/pages/own_page.h"

namespace tidegauge::wss {
namespace {

bool hasSoftDirty() {
  // If unknown: assume soft-dirty bits, so that no harm is done.
  return ((OwnPage().pagemapEntry().value_or(~uint64_t{0}) >> 55) & 1) != 0;
}

}  // namespace

Flush flushOfThisKernel() { return hasSoftDirty() ? Flush::kNone : Flush::kFree; }

}  // namespace tidegauge::wss
