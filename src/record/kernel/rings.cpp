#include "record/kernel/rings.h"

#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

constexpr std::chrono::milliseconds kDrainEvery{5};
constexpr int kMaxTries = 100;  // for a record that another processor is about to finish
constexpr size_t kMaxWaiting = size_t{2} << 20;  // 160 MiB: four seconds at 500,000 a second

template <class Record>
int keep(void* list, void* data, size_t size) {
  if (size < sizeof(Record)) return 0;
  Record record;
  std::memcpy(&record, data, sizeof(record));
  static_cast<std::vector<Record>*>(list)->push_back(record);
  return 0;
}

int keepLaunch(void* list, void* data, size_t size) {
  SeenLaunch launch;
  if (size < sizeof(launch_record)) return 0;
  std::memcpy(static_cast<launch_record*>(&launch), data, sizeof(launch_record));
  const auto* bytes = static_cast<const uint8_t*>(data) + sizeof(launch_record);
  size_t count = std::min<size_t>(launch.whole_bytes, size - sizeof(launch_record));
  launch.bytes.assign(bytes, bytes + count);
  static_cast<std::vector<SeenLaunch>*>(list)->push_back(std::move(launch));
  return 0;
}

template <class Record>
void moveAll(std::vector<Record>& from, std::vector<Record>& to) {
  if (to.empty()) {
    to.swap(from);
  } else {
    to.insert(to.end(), from.begin(), from.end());
  }
  from.clear();
}

}  // namespace

bool RingPlaces::open(int map) {
  long page = sysconf(_SC_PAGESIZE);
  auto look = [&](off_t at) {
    void* memory = mmap(nullptr, static_cast<size_t>(page), PROT_READ, MAP_SHARED, map, at);
    return memory == MAP_FAILED ? nullptr : static_cast<const uint64_t*>(memory);
  };
  read_ = look(0);
  written_ = look(page);
  return read_ != nullptr && written_ != nullptr;
}

RingPlaces::~RingPlaces() {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const uint64_t* place : {read_, written_})
    if (place != nullptr) munmap(const_cast<uint64_t*>(place), page);
}

bool Rings::open(const Programs& programs, bool launch_events) {
  auto ring = [&](const char* name, ring_buffer_sample_fn take, void* into) {
    return ring_buffer__new(programs.mapDescriptor(name), take, into, nullptr);
  };
  memory_ = ring("memory_ring", keep<memory_record>, &waiting_);
  if (memory_ == nullptr || !memory_places_.open(programs.mapDescriptor("memory_ring")))
    return false;
  system_ = ring("system_ring", keep<system_record>, &system_records_);
  if (system_ == nullptr || !system_places_.open(programs.mapDescriptor("system_ring")))
    return false;
  names_ = ring("name_ring", keep<name_record>, &name_records_);
  if (names_ == nullptr) return false;
  if (launch_events) {
    launches_ = ring("launch_ring", keepLaunch, &launch_records_);
    if (launches_ == nullptr || !launch_places_.open(programs.mapDescriptor("launch_ring")))
      return false;
  }
  drainer_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kDrainEvery, [this] { return is_over_; })) drain();
  });
  return true;
}

Rings::~Rings() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  if (drainer_.joinable()) drainer_.join();
  ring_buffer__free(memory_);
  ring_buffer__free(system_);
  ring_buffer__free(names_);
  ring_buffer__free(launches_);
}

bool Rings::readAll(ring_buffer* ring, const RingPlaces& places) {
  uint64_t written = places.written();
  for (int i = 0; i < kMaxTries; ++i) {
    ring_buffer__consume(ring);
    if (places.read() >= written) return true;
  }
  return false;
}

// If `waiting_` is full, the rest stays in the ring, where losses are counted.
void Rings::drain() {
  if (waiting_.size() >= kMaxWaiting) return;
  uint64_t now_ns = evenClock().kernelNow_ns();
  if (readAll(memory_, memory_places_)) drained_at_ = now_ns;
}

void Rings::wait(int timeout_ms) {
  epoll_event event{};
  (void)epoll_wait(ring_buffer__epoll_fd(system_), &event, 1, timeout_ms);
}

void Rings::takeSystem(std::vector<system_record>& into) {
  if (!system_places_.isOpen()) return;
  uint64_t now_ns = evenClock().kernelNow_ns();
  if (readAll(system_, system_places_)) system_read_at_ = now_ns;
  moveAll(system_records_, into);
}

void Rings::takeNames(std::vector<name_record>& into) {
  ring_buffer__consume(names_);
  moveAll(name_records_, into);
}

uint64_t Rings::takeCalls(std::vector<memory_record>& memory, std::vector<SeenLaunch>& launches) {
  uint64_t drained_at = 0;
  {
    std::lock_guard lock(mutex_);
    drain();
    moveAll(waiting_, memory);
    drained_at = drained_at_;
  }
  if (launches_ == nullptr) return drained_at;
  uint64_t now_ns = evenClock().kernelNow_ns();
  if (readAll(launches_, launch_places_)) launches_read_at_ = now_ns;
  moveAll(launch_records_, launches);
  return std::min(drained_at, launches_read_at_);
}

}  // namespace tidegauge::record
