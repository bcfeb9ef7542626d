#include "model/ledger/contexts.h"

namespace tidegauge::model {
namespace {

int32_t deviceIn(uint64_t value) {
  return value < static_cast<uint64_t>(kMaxDevices) ? static_cast<int32_t>(value) : kUnknownDevice;
}

}  // namespace

Ended Contexts::take(const MemoryCall& call) {
  bool by_device = call.kind == MemoryKind::kDevice;  // the runtime names devices, not contexts
  switch (call.verb) {
    case Verb::kCreate: {
      Ended before = add(call.handle, {call.device, false, 1, call.end_ns});
      std::vector<uint64_t>& current = threads_[call.thread].current;
      if (current.size() < kMaxPushed) current.push_back(call.handle);
      return before;
    }
    case Verb::kRetain: {
      auto known = contexts_.find(call.handle);
      if (known == contexts_.end() || !known->second.is_primary)
        return add(call.handle, {call.device, true, 1, call.end_ns});
      ++known->second.references;
      return {};
    }
    case Verb::kSet:
      if (by_device) {
        threads_[call.thread].device = deviceIn(call.handle);
        threads_[call.thread].current.clear();
        return {};
      }
      sees_switches_ = true;
      threads_[call.thread].current = {call.handle};
      return {};
    case Verb::kPush: {
      sees_switches_ = true;
      std::vector<uint64_t>& current = threads_[call.thread].current;
      if (current.size() < kMaxPushed) current.push_back(call.handle);
      return {};
    }
    case Verb::kPop: {
      sees_switches_ = true;
      std::vector<uint64_t>& current = threads_[call.thread].current;
      if (!current.empty()) current.pop_back();
      return {};
    }
    case Verb::kDestroy: {
      auto known = contexts_.find(call.handle);
      bool is_of_before = known != contexts_.end() && known->second.since_ns > call.start_ns;
      return is_of_before ? Ended{} : end(call.handle);
    }
    case Verb::kRelease: {
      auto device = devices_.find(call.device >= 0 ? call.device : deviceIn(call.handle));
      if (device == devices_.end() || device->second.primary == 0) return {};
      uint64_t primary = device->second.primary;
      return --contexts_[primary].references == 0 ? end(primary) : Ended{};
    }
    case Verb::kReset:
      return endDevice(!by_device && call.device < 0 ? deviceIn(call.handle) : where(call).device);
    default:
      return {};
  }
}

Where Contexts::where(const MemoryCall& call) const {
  Where where{call.device >= 0 && call.device < kMaxDevices ? call.device : kUnknownDevice, 0};
  auto thread = threads_.find(call.thread);
  if (thread == threads_.end()) return where;
  if (thread->second.current.empty()) {
    if (where.device < 0) where.device = thread->second.device;
    return where;
  }
  auto context = contexts_.find(thread->second.current.back());
  if (context == contexts_.end()) return where;
  int32_t device = context->second.device;
  if (where.device < 0) where.device = device;
  // A recorder may leave switches out: then the one that was made last need not be the current one.
  auto of_device = devices_.find(device);
  bool certain = sees_switches_ || (of_device != devices_.end() && of_device->second.contexts == 1);
  if (certain && where.device == device) where.context = context->first;
  return where;
}

Ended Contexts::add(uint64_t handle, const Context& context) {
  Ended before = end(handle);
  contexts_[handle] = context;
  OfDevice& device = devices_[context.device];
  ++device.contexts;
  if (context.is_primary) device.primary = handle;
  return before;
}

Ended Contexts::end(uint64_t context) {
  auto at = contexts_.find(context);
  if (at == contexts_.end()) return {true, kUnknownDevice, context, false, false};
  int32_t device = at->second.device;
  contexts_.erase(at);
  OfDevice& of_device = devices_[device];
  --of_device.contexts;
  if (of_device.primary == context) of_device.primary = 0;
  return {true, device, context, false, of_device.contexts == 0};
}

Ended Contexts::endDevice(int32_t device) {
  if (device < 0) return {};
  auto at = devices_.find(device);
  if (at != devices_.end() && at->second.primary != 0) end(at->second.primary);
  return {true, device, 0, true, true};
}

void Contexts::clear() {
  contexts_.clear();
  devices_.clear();
  threads_.clear();
}

}  // namespace tidegauge::model
