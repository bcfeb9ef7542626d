#include "model/ledger/holdings.h"

namespace tidegauge::model {
namespace {

// In place of the context of what outlives contexts.
constexpr uint64_t kNoContext = UINT64_MAX;

}  // namespace

bool outlivesContext(MemoryKind kind) {
  return kind == MemoryKind::kPhysical || kind == MemoryKind::kPool;
}

Holdings::Owner Holdings::ownerOf(uint32_t row) const {
  const Holding& it = rows_[row];
  return {it.device, outlivesContext(it.kind) ? kNoContext : it.context, row};
}

uint32_t Holdings::add(const Holding& holding) {
  auto row = static_cast<uint32_t>(rows_.size());
  if (free_rows_.empty()) {
    rows_.push_back(holding);
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
    rows_[row] = holding;
  }
  rows_[row].place = nextPlace();
  by_owner_.insert(ownerOf(row));
  return row;
}

void Holdings::remove(uint32_t row) {
  by_owner_.erase(ownerOf(row));
  rows_[row] = {};
  free_rows_.push_back(row);
}

void Holdings::setDevice(uint32_t row, int32_t device) {
  by_owner_.erase(ownerOf(row));
  rows_[row].device = device;
  by_owner_.insert(ownerOf(row));
}

std::vector<uint32_t> Holdings::between(const Owner& first, const Owner& last) const {
  std::vector<uint32_t> rows;
  for (auto at = by_owner_.lower_bound(first); at != by_owner_.end() && *at <= last; ++at)
    rows.push_back(std::get<2>(*at));
  return rows;
}

std::vector<uint32_t> Holdings::ofDevice(int32_t device) const {
  return between({device, 0, 0}, {device, UINT64_MAX, UINT32_MAX});
}

std::vector<uint32_t> Holdings::ofContext(int32_t device, uint64_t context) const {
  return between({device, context, 0}, {device, context, UINT32_MAX});
}

}  // namespace tidegauge::model
