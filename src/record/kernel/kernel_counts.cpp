#include "record/kernel/kernel_counts.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace tidegauge::record {
namespace {

constexpr std::chrono::milliseconds kLookEvery{5};
constexpr uint32_t kBatchRows = 4096;
constexpr uint32_t kMaxBatchRows = 1U << 20;

// A batch that ends early (no space, end of table) has still returned `count` rows.
template <class Key, class Value>
void emptyByBatches(int map, std::vector<std::pair<Key, Value>>& rows) {
  std::vector<Key> keys(kBatchRows);
  std::vector<Value> values(kBatchRows);
  uint64_t place = 0;  // an opaque position of the kernel
  for (bool is_first = true;; is_first = false) {
    auto count = static_cast<uint32_t>(keys.size());
    int rc = bpf_map_lookup_and_delete_batch(map, is_first ? nullptr : &place, &place, keys.data(),
                                             values.data(), &count, nullptr);
    if (rc != 0 && rc != -ENOENT && rc != -ENOSPC) count = 0;  // batches are not supported: by key
    for (uint32_t i = 0; i < count && i < keys.size(); ++i) rows.emplace_back(keys[i], values[i]);
    if (rc == -ENOSPC && keys.size() < kMaxBatchRows) {  // one bucket has more rows: try again
      keys.resize(keys.size() * 4);
      values.resize(keys.size());
    } else if (rc != 0 || count == 0) {
      return;
    }
  }
}

// Takes the remaining rows.
template <class Key, class Value>
void emptyByKey(int map, std::vector<std::pair<Key, Value>>& rows) {
  Key key{};
  while (bpf_map_get_next_key(map, nullptr, &key) == 0) {
    Value value{};
    if (bpf_map_lookup_elem(map, &key, &value) == 0) rows.emplace_back(key, value);
    if (bpf_map_delete_elem(map, &key) != 0) return;
  }
}

}  // namespace

template <class Key, class Value>
std::vector<std::pair<Key, Value>> emptyTable(int map) {
  std::vector<std::pair<Key, Value>> rows;
  emptyByBatches(map, rows);
  emptyByKey(map, rows);
  return rows;
}
template std::vector<std::pair<launch_key, uint64_t>> emptyTable(int);
template std::vector<std::pair<copy_key, copy_sum>> emptyTable(int);

KernelCounts::KernelCounts(const Programs& programs)
    : rows_added_(programs.mapDescriptor("rows_added")),
      beyond_(programs.mapDescriptor("launches_beyond")),
      launches_{programs.mapDescriptor("launches"),
                {programs.mapDescriptor("launches_a"), programs.mapDescriptor("launches_b")},
                0,
                COUNTED_LAUNCHES,
                0},
      copies_{programs.mapDescriptor("copies"),
              {programs.mapDescriptor("copies_a"), programs.mapDescriptor("copies_b")},
              0,
              COUNTED_COPIES,
              0} {}

uint64_t KernelCounts::rowsOf(const Tables& tables) const {
  uint64_t rows = 0;
  (void)bpf_map_lookup_elem(rows_added_, &tables.counted, &rows);
  return rows;
}

KernelCounts::~KernelCounts() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

void KernelCounts::start() {
  keeper_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kLookEvery, [this] { return is_over_; }))
      if (isFilling()) takeNow();
  });
}

bool KernelCounts::isFilling() const {
  return rowsOf(launches_) - launches_.rows_before > LAUNCH_ROWS / 16 ||
         rowsOf(copies_) - copies_.rows_before > COPY_ROWS / 4;
}

template <class Key, class Value>
std::vector<std::pair<Key, Value>> KernelCounts::take(Tables& tables) {
  int full = tables.inner[static_cast<size_t>(tables.current)];
  Key any{};
  if (bpf_map_get_next_key(full, nullptr, &any) != 0) return {};
  // Before the switch: a row added meanwhile is then counted twice at most, the next time.
  tables.rows_before = rowsOf(tables);
  uint32_t first = 0;
  int next = 1 - tables.current;
  if (bpf_map_update_elem(tables.outer, &first, &tables.inner[static_cast<size_t>(next)],
                          BPF_ANY) != 0)
    return {};  // continues with the same table; the next attempt may succeed
  tables.current = next;
  return emptyTable<Key, Value>(full);
}

void KernelCounts::takeNow() {
  auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(taken_.launches, take<launch_key, uint64_t>(launches_));
  add(taken_.copies, take<copy_key, copy_sum>(copies_));
}

TakenCounts KernelCounts::take() {
  std::lock_guard lock(mutex_);
  takeNow();
  TakenCounts taken = std::exchange(taken_, {});
  // Few rows, if any, and they stay: each program adds to its own while it runs.
  beyond_key key{}, next{};
  for (void* from = nullptr; bpf_map_get_next_key(beyond_, from, &next) == 0; from = &key) {
    key = next;
    uint64_t calls = 0;
    if (bpf_map_lookup_elem(beyond_, &key, &calls) != 0) continue;
    uint64_t& before = beyond_taken_[{key.program, key.function}];
    if (calls > before) taken.beyond.emplace_back(key, calls - before);
    before = std::max(before, calls);
  }
  return taken;
}

void KernelCounts::forget(uint32_t program) {
  std::lock_guard lock(mutex_);
  auto begin = beyond_taken_.lower_bound({program, 0});
  auto end = beyond_taken_.upper_bound({program, UINT16_MAX});
  for (auto it = begin; it != end; ++it) {
    beyond_key key{program, it->first.second, 0};
    bpf_map_delete_elem(beyond_, &key);
  }
  beyond_taken_.erase(begin, end);
}

}  // namespace tidegauge::record
