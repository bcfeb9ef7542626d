// Device model: address space, capacity and contexts of up to four simulated GPUs.
//
//   0x7000_0000_0000 ┬ device 0, 2 TiB ┬ device 1 … ┬ pinned host memory ┐
//                    └ lowest free address first, 2 MiB granules: the same on every run
//
// One lock around everything (the driver's functions take it). Nothing here is destroyed at exit,
// since programs free memory in their destructors. Environment: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace standin {

constexpr int kMaxDevices = 4;
constexpr int kHost = kMaxDevices;  // the region of pinned host memory
constexpr uint64_t kBase = 0x700000000000;
constexpr uint64_t kRegionBytes = 0x20000000000;
constexpr uint64_t kGranule = 2 << 20;

enum class Kind { kDevice, kManaged, kHost, kPool, kAddresses, kAlias, kGraph };
constexpr const char* kKindNames[] = {"device", "managed", "pinned host", "pool",
                                      "range",  "alias",   "graph"};

struct Context {
  int device = 0;
  bool primary = false;
  int references = 0;
};
struct Pool {
  int device = 0;
  bool is_default = false;
  uint64_t reserved = 0, reserved_high = 0, used = 0, used_high = 0, keep_bytes = 0;
  std::multimap<uint64_t, uint64_t> unused;  // bytes → address
};
struct Range {
  uint64_t bytes = 0;  // granules
  uint64_t asked = 0;
  Kind kind = Kind::kDevice;
  Context* context = nullptr;
  Pool* pool = nullptr;
};
struct Physical {
  int device = 0;
  uint64_t bytes = 0;
  int handles = 1, maps = 0;
};
struct Mapping {
  uint64_t bytes = 0;
  Physical* physical = nullptr;
};
struct Array {
  Context* context = nullptr;
  uint64_t bytes = 0;
};

struct Device {
  uint64_t used = 0;  // granules: what capacity is compared with
  uint64_t asked = 0, asked_high = 0;
  std::map<uint64_t, Range> ranges;
  Context primary;
  Pool pool;
};

struct Model {
  std::mutex mutex;
  std::atomic<bool> initialized = false;
  uint64_t capacity = 0, context_bytes = 0;
  int count = 1;
  Device devices[kMaxDevices + 1];
  std::set<Context*> contexts;
  std::set<Pool*> pools;
  std::set<Physical*> physicals;
  std::map<uint64_t, Mapping> mappings;
  std::map<void*, Array> arrays;
  std::map<void*, int> streams;  // the device of each
  std::map<uint64_t, uint64_t> registered;
  std::map<uint64_t, int> externals;
  uint64_t next_handle = 0x10000;
};
Model& model();

uint64_t granules(uint64_t bytes);
int regionOf(uint64_t address);  // −1: none

// Addresses alone; 0: no room.
uint64_t takeAddresses(int region, uint64_t bytes, uint64_t align, const Range& range);
// Addresses and memory. CU_OUT_OF_MEMORY when the device is full.
int allocate(int region, uint64_t asked, Kind kind, Context* context, Pool* pool, uint64_t* out);
int release(uint64_t address, std::initializer_list<Kind> kinds);
Range* findRange(uint64_t address, uint64_t* begin);
void dropContents(Context* context);

bool take(int device, uint64_t bytes, uint64_t asked);  // from the capacity
void give(int device, uint64_t bytes, uint64_t asked);
void unreference(Physical* physical);

Context*& current();              // of this thread
std::vector<Context*>& pushed();  // below the current one

// FAKE_GPU_FAIL=NAME@N=CODE;…: the N-th call of a function fails; N = *: all; a code below 0 raises
// that signal instead. Returns the code for this call; 0: no failure is planned.
int plannedFailure(const char* function);

}  // namespace standin
