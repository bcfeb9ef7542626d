#include "device.h"

#include <sys/mman.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver_api.h"

namespace standin {
namespace {

uint64_t sizeFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  if (text == nullptr || *text == 0) return otherwise;
  char* end = nullptr;
  double value = strtod(text, &end);
  switch (*end | 32) {
    case 'k':
      return static_cast<uint64_t>(value * (1 << 10));
    case 'm':
      return static_cast<uint64_t>(value * (1 << 20));
    case 'g':
      return static_cast<uint64_t>(value * (1 << 30));
    default:
      return static_cast<uint64_t>(value);
  }
}

struct PlannedFailure {
  std::string function;
  long at = 0;  // 0: every call
  int code = 0;
  std::atomic<long> calls = 0;
};
std::vector<PlannedFailure*>* failuresFromEnvironment() {
  auto* plan = new std::vector<PlannedFailure*>;
  const char* text = getenv("FAKE_GPU_FAIL");
  while (text != nullptr && *text != 0) {
    const char* end = strchrnul(text, ';');
    std::string word(text, end);
    size_t at = word.find('@'), equals = word.find('=');
    if (at != std::string::npos && equals != std::string::npos && at < equals) {
      auto* one = new PlannedFailure;
      one->function = word.substr(0, at);
      one->at = atol(word.c_str() + at + 1);  // "*" reads as 0
      one->code = atoi(word.c_str() + equals + 1);
      plan->push_back(one);
    }
    text = *end != 0 ? end + 1 : end;
  }
  return plan;
}

Model* start() {
  auto* it = new Model;
  it->capacity = sizeFromEnvironment("FAKE_GPU_BYTES", uint64_t{80} << 30);
  it->context_bytes = sizeFromEnvironment("FAKE_GPU_CONTEXT_BYTES", 0);
  it->count = static_cast<int>(sizeFromEnvironment("FAKE_GPU_COUNT", 1));
  if (it->count > kMaxDevices) it->count = kMaxDevices;
  for (int i = 0; i <= kMaxDevices; ++i) {
    it->devices[i].primary = {i, true, 0};
    it->devices[i].pool.device = i;
    it->devices[i].pool.is_default = true;
    if (i >= it->count && i != kHost) continue;
    it->contexts.insert(&it->devices[i].primary);
    it->pools.insert(&it->devices[i].pool);
    void* want = reinterpret_cast<void*>(kBase + static_cast<uint64_t>(i) * kRegionBytes);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap(want, kRegionBytes, PROT_READ | PROT_WRITE, flags, -1, 0) != want) {
      perror("stand-in GPU: its address space is taken");
      abort();
    }
  }
  return it;
}

}  // namespace

Model& model() {
  static Model& it = *start();
  return it;
}

int plannedFailure(const char* function) {
  static const auto& plan = *failuresFromEnvironment();
  for (PlannedFailure* one : plan)
    if (one->function == function && (++one->calls == one->at || one->at == 0)) {
      if (one->code < 0) raise(-one->code);
      return one->code < 0 ? 0 : one->code;
    }
  return 0;
}

uint64_t granules(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

int regionOf(uint64_t address) {
  if (address < kBase || address >= kBase + (kMaxDevices + 1) * kRegionBytes) return -1;
  return static_cast<int>((address - kBase) / kRegionBytes);
}

uint64_t takeAddresses(int region, uint64_t bytes, uint64_t align, const Range& range) {
  if (align < kGranule) align = kGranule;
  uint64_t begin = kBase + static_cast<uint64_t>(region) * kRegionBytes, at = begin;
  auto up = [align](uint64_t address) { return (address + align - 1) / align * align; };
  auto& ranges = model().devices[region].ranges;
  for (const auto& [address, taken] : ranges) {
    at = up(at);
    if (at + bytes <= address) break;
    at = address + taken.bytes;
  }
  at = up(at);
  if (at + bytes > begin + kRegionBytes) return 0;
  Range& fresh = ranges[at] = range;
  fresh.bytes = bytes;
  return at;
}

bool take(int device, uint64_t bytes, uint64_t asked) {
  Device& it = model().devices[device];
  if (device != kHost && (bytes > model().capacity || it.used > model().capacity - bytes))
    return false;
  it.used += bytes;
  it.asked += asked;
  if (it.asked > it.asked_high) it.asked_high = it.asked;
  return true;
}

void give(int device, uint64_t bytes, uint64_t asked) {
  model().devices[device].used -= bytes;
  model().devices[device].asked -= asked;
}

int allocate(int region, uint64_t asked, Kind kind, Context* context, Pool* pool, uint64_t* out) {
  if (asked == 0) return CU_INVALID_VALUE;
  if (asked > kRegionBytes) return CU_OUT_OF_MEMORY;
  uint64_t bytes = granules(asked);
  if (!take(region, bytes, asked)) return CU_OUT_OF_MEMORY;
  uint64_t address = takeAddresses(region, bytes, kGranule, {0, asked, kind, context, pool});
  if (address == 0) {
    give(region, bytes, asked);
    return CU_OUT_OF_MEMORY;
  }
  *out = address;
  return CU_OK;
}

int release(uint64_t address, std::initializer_list<Kind> kinds) {
  int region = regionOf(address);
  if (region < 0) return CU_INVALID_VALUE;
  auto& ranges = model().devices[region].ranges;
  auto found = ranges.find(address);
  if (found == ranges.end()) return CU_INVALID_VALUE;
  for (Kind kind : kinds) {
    if (found->second.kind != kind) continue;
    if (kind != Kind::kAddresses && kind != Kind::kAlias)
      give(region, found->second.bytes, found->second.asked);
    if (region == kHost)
      madvise(reinterpret_cast<void*>(address), found->second.bytes, MADV_DONTNEED);
    ranges.erase(found);
    return CU_OK;
  }
  return CU_INVALID_VALUE;
}

Range* findRange(uint64_t address, uint64_t* begin) {
  int region = regionOf(address);
  if (region < 0) return nullptr;
  auto& ranges = model().devices[region].ranges;
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return nullptr;
  --found;
  if (address - found->first >= found->second.bytes) return nullptr;
  if (begin != nullptr) *begin = found->first;
  return &found->second;
}

void unreference(Physical* physical) {
  if (physical->handles > 0 || physical->maps > 0) return;
  give(physical->device, granules(physical->bytes), physical->bytes);
  model().physicals.erase(physical);
  delete physical;
}

// A pool's range that is freed with its context.
void forget(const Range& range, uint64_t address) {
  range.pool->reserved -= range.bytes;
  range.pool->used -= range.asked;
  std::erase_if(range.pool->unused, [&](const auto& entry) { return entry.second == address; });
}

// Memory allocated in a context is freed with it.
void dropContents(Context* context) {
  for (Device& device : model().devices) {
    for (auto it = device.ranges.begin(); it != device.ranges.end();) {
      const Range& range = it->second;
      bool owned = range.context == context && range.kind != Kind::kAddresses;
      if (owned && range.kind == Kind::kPool) forget(range, it->first);
      if (owned && range.kind != Kind::kAlias)
        give(static_cast<int>(&device - model().devices), range.bytes, range.asked);
      it = owned ? device.ranges.erase(it) : std::next(it);
    }
  }
  for (auto it = model().arrays.begin(); it != model().arrays.end();) {
    bool owned = it->second.context == context;
    if (owned) give(context->device, granules(it->second.bytes), it->second.bytes);
    it = owned ? model().arrays.erase(it) : std::next(it);
  }
}

Context*& current() {
  static thread_local Context* context = nullptr;
  return context;
}

std::vector<Context*>& pushed() {
  static thread_local std::vector<Context*> stack;
  return stack;
}

}  // namespace standin
