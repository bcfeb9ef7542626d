// The driver's memory functions. DRIVER(name) is exported by the stub of that name (build.py),
// which begins with the same instructions as the real library's.
#include <unistd.h>

#include <cstring>

#include "call_log.h"
#include "device.h"
#include "driver_api.h"

#define DRIVER(name) extern "C" CUresult do_##name
#define ENTER(function)                            \
  Call call(function);                             \
  std::lock_guard<std::mutex> lock(model().mutex); \
  if (call.planned() != 0) return call.done(call.planned())
// For what needs a context: as the real driver, 3 before cuInit(), 201 without a context.
#define NEED_CONTEXT()                                               \
  if (!model().initialized) return call.done(CU_NOT_INITIALIZED);    \
  if (current() == nullptr || !model().contexts.contains(current())) \
  return call.done(CU_INVALID_CONTEXT)

using namespace standin;

namespace {

constexpr uint64_t kPitch = 512;

CUresult plain(Call& call, int region, Kind kind, uint64_t bytes, CUdeviceptr* out) {
  call.bytes = bytes;
  uint64_t address = 0;
  int code = allocate(region, bytes, kind, current(), nullptr, &address);
  if (code == CU_OK) *out = call.address = address;
  return call.done(code);
}

CUresult fromPool(Call& call, Pool* pool, uint64_t bytes, CUdeviceptr* out) {
  call.bytes = bytes;
  if (!model().pools.contains(pool)) return call.done(CU_INVALID_VALUE);
  if (bytes == 0) return call.done(CU_INVALID_VALUE);
  Device& device = model().devices[pool->device];
  uint64_t address = 0;
  auto unused = pool->unused.lower_bound(bytes);
  if (unused != pool->unused.end()) {
    address = unused->second;
    pool->unused.erase(unused);
    device.ranges[address].asked = bytes;
    device.asked += bytes;
    device.asked_high = std::max(device.asked_high, device.asked);
  } else {
    int code = allocate(pool->device, bytes, Kind::kPool, current(), pool, &address);
    if (code != CU_OK) return call.done(code);
    pool->reserved += granules(bytes);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  }
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  *out = call.address = address;
  return call.done(CU_OK);
}

void trim(Pool* pool, uint64_t keep_bytes) {
  while (pool->reserved > keep_bytes && !pool->unused.empty()) {
    auto last = std::prev(pool->unused.end());
    pool->reserved -= last->first;
    release(last->second, {Kind::kPool});
    pool->unused.erase(last);
  }
}

CUresult toPool(Call& call, CUdeviceptr address) {
  uint64_t begin = 0;
  call.address = address;
  Range* range = findRange(address, &begin);
  if (range == nullptr || begin != address || range->kind != Kind::kPool || range->asked == 0)
    return call.done(CU_INVALID_VALUE);
  Pool* pool = range->pool;
  model().devices[pool->device].asked -= range->asked;
  pool->used -= range->asked;
  range->asked = 0;
  pool->unused.emplace(range->bytes, begin);
  return call.done(CU_OK);
}

CUresult makeArray(Call& call, uint64_t elements, unsigned format, unsigned channels,
                   CUarray* out) {
  uint64_t element = format == 1 || format == 8                    ? 1
                     : format == 3 || format == 10 || format == 32 ? 4
                                                                   : 2;
  call.bytes = elements * element * channels;
  if (call.bytes == 0) return call.done(CU_INVALID_VALUE);
  if (!take(current()->device, granules(call.bytes), call.bytes))
    return call.done(CU_OUT_OF_MEMORY);
  model().next_handle += 16;
  *out = reinterpret_cast<CUarray>(model().next_handle);
  call.handle = model().next_handle;
  model().arrays[*out] = {current(), call.bytes};
  return call.done(CU_OK);
}

CUresult dropArray(Call& call, CUarray array) {
  call.handle = reinterpret_cast<uint64_t>(array);
  auto found = model().arrays.find(array);
  if (found == model().arrays.end()) return call.done(CU_INVALID_HANDLE);
  give(found->second.context->device, granules(found->second.bytes), found->second.bytes);
  model().arrays.erase(found);
  return call.done(CU_OK);
}

CUresult alias(Call& call, uint64_t bytes, CUdeviceptr* out) {
  uint64_t address = takeAddresses(current()->device, granules(bytes), kGranule,
                                   {0, 0, Kind::kAlias, current(), nullptr});
  if (address == 0) return call.done(CU_OUT_OF_MEMORY);
  *out = call.address = address;
  return call.done(CU_OK);
}

struct IpcContents {
  uint64_t address, bytes;
  int pid;
};

}  // namespace

// ---- plain, pitched, managed, host --------------------------------------------------------------
DRIVER(cuMemGetInfo_v2)(size_t* free_bytes, size_t* total_bytes) {
  std::lock_guard<std::mutex> lock(model().mutex);
  if (current() == nullptr) return CU_INVALID_CONTEXT;
  uint64_t used = model().devices[current()->device].used;
  *total_bytes = model().capacity;
  *free_bytes = used < model().capacity ? model().capacity - used : 0;
  return CU_OK;
}
DRIVER(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(model().mutex);
  uint64_t begin = 0;
  Range* range = findRange(address, &begin);
  if (range == nullptr) return 500;  // not found
  if (base != nullptr) *base = begin;
  if (bytes != nullptr) *bytes = range->bytes;
  return CU_OK;
}
DRIVER(cuMemAlloc_v2)(CUdeviceptr* out, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  call.bytes = bytes;
  NEED_CONTEXT();
  return plain(call, current()->device, Kind::kDevice, bytes, out);
}
DRIVER(cuMemAllocPitch_v2)
(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  ENTER("cuMemAllocPitch_v2");
  NEED_CONTEXT();
  if (element != 4 && element != 8 && element != 16) return call.done(CU_INVALID_VALUE);
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return plain(call, current()->device, Kind::kDevice, *pitch * height, out);
}
DRIVER(cuMemAllocManaged)(CUdeviceptr* out, size_t bytes, unsigned) {
  ENTER("cuMemAllocManaged");
  call.bytes = bytes;
  NEED_CONTEXT();
  return plain(call, current()->device, Kind::kManaged, bytes, out);
}
DRIVER(cuMemAllocHost_v2)(void** out, size_t bytes) {
  ENTER("cuMemAllocHost_v2");
  call.bytes = bytes;
  NEED_CONTEXT();
  return plain(call, kHost, Kind::kHost, bytes, reinterpret_cast<CUdeviceptr*>(out));
}
DRIVER(cuMemHostAlloc)(void** out, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  call.bytes = bytes;
  NEED_CONTEXT();
  return plain(call, kHost, Kind::kHost, bytes, reinterpret_cast<CUdeviceptr*>(out));
}
DRIVER(cuMemHostRegister_v2)(void* address, size_t bytes, unsigned) {
  ENTER("cuMemHostRegister_v2");
  call.address = reinterpret_cast<uint64_t>(address);
  call.bytes = bytes;
  NEED_CONTEXT();
  if (bytes == 0) return call.done(CU_INVALID_VALUE);
  auto next = model().registered.upper_bound(call.address);
  bool overlaps = next != model().registered.end() && next->first < call.address + bytes;
  if (next != model().registered.begin()) {
    auto before = std::prev(next);
    overlaps |= before->first + before->second > call.address;
  }
  if (overlaps) return call.done(CU_ALREADY_REGISTERED);
  model().registered[call.address] = bytes;
  return call.done(CU_OK);
}
DRIVER(cuMemHostUnregister)(void* address) {
  ENTER("cuMemHostUnregister");
  call.address = reinterpret_cast<uint64_t>(address);
  return call.done(model().registered.erase(call.address) != 0 ? CU_OK : CU_NOT_REGISTERED);
}
DRIVER(cuMemFree_v2)(CUdeviceptr address) {
  ENTER("cuMemFree_v2");
  call.address = address;
  NEED_CONTEXT();
  if (address == 0) return call.done(CU_OK);
  Range* range = findRange(address, nullptr);
  if (range != nullptr && range->kind == Kind::kPool) return toPool(call, address);
  return call.done(release(address, {Kind::kDevice, Kind::kManaged, Kind::kGraph}));
}
DRIVER(cuMemFreeHost)(void* address) {
  ENTER("cuMemFreeHost");
  call.address = reinterpret_cast<uint64_t>(address);
  NEED_CONTEXT();
  if (address == nullptr) return call.done(CU_OK);
  return call.done(release(call.address, {Kind::kHost}));
}

// A default stream is on the device of the thread.
static int deviceOf(CUstream stream) {
  auto found = model().streams.find(stream);
  return found == model().streams.end() ? current()->device : found->second;
}

// ---- pools: memory returns to the pool, not to the device ---------------------------------------
#define POOL_FUNCTIONS(suffix)                                                  \
  DRIVER(cuMemAllocAsync##suffix)                                               \
  (CUdeviceptr * out, size_t bytes, CUstream stream) {                          \
    ENTER("cuMemAllocAsync" #suffix);                                           \
    call.bytes = bytes;                                                         \
    NEED_CONTEXT();                                                             \
    return fromPool(call, &model().devices[deviceOf(stream)].pool, bytes, out); \
  }                                                                             \
  DRIVER(cuMemAllocFromPoolAsync##suffix)                                       \
  (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream) {              \
    ENTER("cuMemAllocFromPoolAsync" #suffix);                                   \
    call.handle = reinterpret_cast<uint64_t>(pool);                             \
    call.bytes = bytes;                                                         \
    NEED_CONTEXT();                                                             \
    return fromPool(call, static_cast<Pool*>(pool), bytes, out);                \
  }                                                                             \
  DRIVER(cuMemFreeAsync##suffix)(CUdeviceptr address, CUstream) {               \
    ENTER("cuMemFreeAsync" #suffix);                                            \
    NEED_CONTEXT();                                                             \
    return toPool(call, address);                                               \
  }
POOL_FUNCTIONS()
POOL_FUNCTIONS(_ptsz)

DRIVER(cuMemPoolCreate)(CUmemoryPool* out, const CUmemPoolProps* props) {
  ENTER("cuMemPoolCreate");
  if (props->location.id < 0 || props->location.id >= model().count)
    return call.done(CU_INVALID_DEVICE);
  auto* pool = new Pool;
  pool->device = props->location.id;
  model().pools.insert(pool);
  *out = pool;
  call.handle = reinterpret_cast<uint64_t>(pool);
  return call.done(CU_OK);
}
DRIVER(cuMemPoolDestroy)(CUmemoryPool handle) {
  ENTER("cuMemPoolDestroy");
  auto* pool = static_cast<Pool*>(handle);
  call.handle = reinterpret_cast<uint64_t>(pool);
  if (!model().pools.contains(pool) || pool->is_default) return call.done(CU_INVALID_VALUE);
  trim(pool, 0);
  model().pools.erase(pool);  // memory in use keeps its range; the pool object is leaked
  return call.done(CU_OK);
}
DRIVER(cuMemPoolTrimTo)(CUmemoryPool handle, size_t keep_bytes) {
  ENTER("cuMemPoolTrimTo");
  auto* pool = static_cast<Pool*>(handle);
  call.handle = reinterpret_cast<uint64_t>(pool);
  call.bytes = keep_bytes;
  if (!model().pools.contains(pool)) return call.done(CU_INVALID_VALUE);
  trim(pool, keep_bytes);
  return call.done(CU_OK);
}
DRIVER(cuMemPoolSetAttribute)(CUmemoryPool handle, int attribute, void* value) {
  std::lock_guard<std::mutex> lock(model().mutex);
  auto* pool = static_cast<Pool*>(handle);
  if (!model().pools.contains(pool)) return CU_INVALID_VALUE;
  if (attribute == 4) pool->keep_bytes = *static_cast<uint64_t*>(value);
  if (attribute == 6) pool->reserved_high = pool->reserved;
  if (attribute == 8) pool->used_high = pool->used;
  return CU_OK;
}
DRIVER(cuMemPoolGetAttribute)(CUmemoryPool handle, int attribute, void* value) {
  std::lock_guard<std::mutex> lock(model().mutex);
  auto* pool = static_cast<Pool*>(handle);
  if (!model().pools.contains(pool)) return CU_INVALID_VALUE;
  const uint64_t values[] = {pool->keep_bytes, pool->reserved, pool->reserved_high, pool->used,
                             pool->used_high};
  if (attribute < 4 || attribute > 8)
    *static_cast<int*>(value) = 1;  // reuse policies
  else
    *static_cast<uint64_t*>(value) = values[attribute - 4];
  return CU_OK;
}
DRIVER(cuDeviceGetDefaultMemPool)(CUmemoryPool* out, CUdevice device) {
  if (device < 0 || device >= model().count) return CU_INVALID_DEVICE;
  *out = &model().devices[device].pool;
  return CU_OK;
}
DRIVER(cuDeviceGetMemPool)(CUmemoryPool* out, CUdevice device) {
  return do_cuDeviceGetDefaultMemPool(out, device);
}
DRIVER(cuMemGetDefaultMemPool)(CUmemoryPool* out, CUmemLocation* location, int) {
  if (location->type != 1) return CU_INVALID_VALUE;
  return do_cuDeviceGetDefaultMemPool(out, location->id);
}
DRIVER(cuMemGetMemPool)(CUmemoryPool* out, CUmemLocation* location, int type) {
  return do_cuMemGetDefaultMemPool(out, location, type);
}
DRIVER(cuMemPoolImportPointer)(CUdeviceptr* out, CUmemoryPool pool, void*) {
  ENTER("cuMemPoolImportPointer");
  call.handle = reinterpret_cast<uint64_t>(pool);
  NEED_CONTEXT();
  return alias(call, kGranule, out);
}

// ---- physical memory and addresses apart --------------------------------------------------------
DRIVER(cuMemGetAllocationGranularity)(size_t* out, const CUmemAllocationProp*, int) {
  *out = kGranule;
  return CU_OK;
}
DRIVER(cuMemCreate)
(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* props,
 unsigned long long) {
  ENTER("cuMemCreate");
  call.bytes = bytes;
  if (bytes == 0 || bytes % kGranule != 0) return call.done(CU_INVALID_VALUE);
  int device = props->location.id;
  if (device < 0 || device >= model().count) return call.done(CU_INVALID_DEVICE);
  if (!take(device, bytes, bytes)) return call.done(CU_OUT_OF_MEMORY);
  auto* physical = new Physical{device, bytes};
  model().physicals.insert(physical);
  *out = call.handle = reinterpret_cast<uint64_t>(physical);
  return call.done(CU_OK);
}
DRIVER(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  ENTER("cuMemRelease");
  call.handle = handle;
  auto* physical = reinterpret_cast<Physical*>(handle);
  if (!model().physicals.contains(physical) || physical->handles == 0)
    return call.done(CU_INVALID_VALUE);
  physical->handles -= 1;
  unreference(physical);
  return call.done(CU_OK);
}
DRIVER(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* out, void* address) {
  ENTER("cuMemRetainAllocationHandle");
  call.address = reinterpret_cast<uint64_t>(address);
  auto found = model().mappings.upper_bound(call.address);
  if (found == model().mappings.begin()) return call.done(CU_INVALID_VALUE);
  --found;
  if (call.address - found->first >= found->second.bytes) return call.done(CU_INVALID_VALUE);
  found->second.physical->handles += 1;
  *out = call.handle = reinterpret_cast<uint64_t>(found->second.physical);
  return call.done(CU_OK);
}
DRIVER(cuMemExportToShareableHandle)
(void* out, CUmemGenericAllocationHandle handle, int, unsigned long long) {
  *static_cast<uint64_t*>(out) = handle;
  return CU_OK;
}
DRIVER(cuMemImportFromShareableHandle)(CUmemGenericAllocationHandle* out, void* data, int) {
  ENTER("cuMemImportFromShareableHandle");
  auto* physical = static_cast<Physical*>(data);
  if (!model().physicals.contains(physical)) return call.done(CU_INVALID_VALUE);
  physical->handles += 1;
  *out = call.handle = reinterpret_cast<uint64_t>(physical);
  return call.done(CU_OK);
}
DRIVER(cuMemAddressReserve)
(CUdeviceptr* out, size_t bytes, size_t align, CUdeviceptr, unsigned long long) {
  ENTER("cuMemAddressReserve");
  call.bytes = bytes;
  if (bytes == 0 || bytes % kGranule != 0) return call.done(CU_INVALID_VALUE);
  int device = current() != nullptr ? current()->device : 0;
  *out = call.address = takeAddresses(device, bytes, align, {0, bytes, Kind::kAddresses});
  return call.done(call.address != 0 ? CU_OK : CU_OUT_OF_MEMORY);
}
DRIVER(cuMemAddressFree)(CUdeviceptr address, size_t bytes) {
  ENTER("cuMemAddressFree");
  call.address = address;
  call.bytes = bytes;
  uint64_t begin = 0;
  Range* range = findRange(address, &begin);
  if (range == nullptr || begin != address || range->bytes != bytes)
    return call.done(CU_INVALID_VALUE);
  auto mapped = model().mappings.lower_bound(address);
  if (mapped != model().mappings.end() && mapped->first < address + bytes)
    return call.done(CU_INVALID_VALUE);
  return call.done(release(address, {Kind::kAddresses}));
}
DRIVER(cuMemMap)
(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
 unsigned long long) {
  ENTER("cuMemMap");
  call.address = address;
  call.bytes = bytes;
  call.handle = handle;
  auto* physical = reinterpret_cast<Physical*>(handle);
  uint64_t begin = 0;
  Range* range = findRange(address, &begin);
  bool fits = range != nullptr && range->kind == Kind::kAddresses &&
              address + bytes <= begin + range->bytes && model().physicals.contains(physical) &&
              offset + bytes <= physical->bytes && bytes != 0 && bytes % kGranule == 0;
  if (!fits) return call.done(CU_INVALID_VALUE);
  auto next = model().mappings.lower_bound(address);
  if (next != model().mappings.end() && next->first < address + bytes)
    return call.done(CU_INVALID_VALUE);
  model().mappings[address] = {bytes, physical};
  physical->maps += 1;
  return call.done(CU_OK);
}
// A range may contain many mappings; part of a mapping cannot be unmapped.
DRIVER(cuMemUnmap)(CUdeviceptr address, size_t bytes) {
  ENTER("cuMemUnmap");
  call.address = address;
  call.bytes = bytes;
  auto first = model().mappings.lower_bound(address);
  auto last = first;
  uint64_t at = address;
  while (last != model().mappings.end() && last->first == at && at < address + bytes)
    at += (last++)->second.bytes;
  if (at != address + bytes || bytes == 0) return call.done(CU_INVALID_VALUE);
  while (first != last) {
    Physical* physical = first->second.physical;
    physical->maps -= 1;
    first = model().mappings.erase(first);
    unreference(physical);
  }
  return call.done(CU_OK);
}
DRIVER(cuMemSetAccess)(CUdeviceptr, size_t, const void*, size_t) { return CU_OK; }
DRIVER(cuMulticastCreate)(CUmemGenericAllocationHandle* out, const void*) {
  ENTER("cuMulticastCreate");
  model().next_handle += 16;
  *out = call.handle = model().next_handle;
  return call.done(CU_OK);
}

// ---- arrays -------------------------------------------------------------------------------------
DRIVER(cuArrayCreate_v2)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) {
  ENTER("cuArrayCreate_v2");
  NEED_CONTEXT();
  uint64_t height = shape->height != 0 ? shape->height : 1;
  return makeArray(call, shape->width * height, shape->format, shape->channels, out);
}
DRIVER(cuArray3DCreate_v2)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  ENTER("cuArray3DCreate_v2");
  NEED_CONTEXT();
  uint64_t height = shape->height != 0 ? shape->height : 1,
           depth = shape->depth != 0 ? shape->depth : 1;
  return makeArray(call, shape->width * height * depth, shape->format, shape->channels, out);
}
DRIVER(cuMipmappedArrayCreate)
(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  ENTER("cuMipmappedArrayCreate");
  NEED_CONTEXT();
  uint64_t elements = 0;
  for (unsigned i = 0; i < levels && i < 32; ++i) {
    auto side = [i](size_t whole) { return std::max<uint64_t>(whole >> i, 1); };
    elements += side(shape->width) * side(shape->height) * side(shape->depth);
  }
  return makeArray(call, elements, shape->format, shape->channels, out);
}
DRIVER(cuArrayDestroy)(CUarray array) {
  ENTER("cuArrayDestroy");
  return dropArray(call, array);
}
DRIVER(cuMipmappedArrayDestroy)(CUmipmappedArray array) {
  ENTER("cuMipmappedArrayDestroy");
  return dropArray(call, array);
}

// ---- aliases: memory that is charged elsewhere --------------------------------------------------
DRIVER(cuIpcGetMemHandle)(CUipcMemHandle* out, CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(model().mutex);
  uint64_t begin = 0;
  Range* range = findRange(address, &begin);
  if (range == nullptr) return CU_INVALID_VALUE;
  IpcContents contents = {begin, range->bytes, getpid()};
  memcpy(out, &contents, sizeof(contents));
  return CU_OK;
}
DRIVER(cuIpcOpenMemHandle_v2)(CUdeviceptr* out, CUipcMemHandle handle, unsigned) {
  ENTER("cuIpcOpenMemHandle_v2");
  NEED_CONTEXT();
  IpcContents contents;
  memcpy(&contents, &handle, sizeof(contents));
  if (contents.bytes == 0 || contents.bytes > kRegionBytes) return call.done(CU_INVALID_VALUE);
  return alias(call, contents.bytes, out);
}
DRIVER(cuIpcCloseMemHandle)(CUdeviceptr address) {
  ENTER("cuIpcCloseMemHandle");
  call.address = address;
  return call.done(release(address, {Kind::kAlias}));
}
DRIVER(cuImportExternalMemory)(CUexternalMemory* out, const void*) {
  ENTER("cuImportExternalMemory");
  model().next_handle += 16;
  model().externals[model().next_handle] = 0;
  call.handle = model().next_handle;
  *out = reinterpret_cast<CUexternalMemory>(model().next_handle);
  return call.done(CU_OK);
}
DRIVER(cuExternalMemoryGetMappedBuffer)
(CUdeviceptr* out, CUexternalMemory memory, const void* buffer) {
  ENTER("cuExternalMemoryGetMappedBuffer");
  call.handle = reinterpret_cast<uint64_t>(memory);
  NEED_CONTEXT();
  if (!model().externals.contains(call.handle)) return call.done(CU_INVALID_HANDLE);
  return alias(call, static_cast<const uint64_t*>(buffer)[1], out);  // {offset, size, flags}
}
DRIVER(cuDestroyExternalMemory)(CUexternalMemory memory) {
  ENTER("cuDestroyExternalMemory");
  call.handle = reinterpret_cast<uint64_t>(memory);
  return call.done(model().externals.erase(call.handle) != 0 ? CU_OK : CU_INVALID_HANDLE);
}

// ---- memory of graphs ---------------------------------------------------------------------------
DRIVER(cuGraphAddMemAllocNode)
(CUgraphNode* out, CUgraph graph, const CUgraphNode*, size_t, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  ENTER("cuGraphAddMemAllocNode");
  call.handle = reinterpret_cast<uint64_t>(graph);
  call.bytes = params->bytesize;
  NEED_CONTEXT();
  uint64_t address = 0;
  int code =
      allocate(current()->device, params->bytesize, Kind::kGraph, current(), nullptr, &address);
  if (code != CU_OK) return call.done(code);
  params->dptr = call.address = address;
  model().next_handle += 16;
  *out = reinterpret_cast<CUgraphNode>(model().next_handle);
  return call.done(CU_OK);
}
DRIVER(cuDeviceGraphMemTrim)(CUdevice device) {
  ENTER("cuDeviceGraphMemTrim");
  call.handle = static_cast<uint64_t>(device);
  return call.done(CU_OK);
}
