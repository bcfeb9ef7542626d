// A memory call of any kind, for tests that want whatever a program may do, in any order, also what
// makes no sense: few addresses and handles, so that they meet.
//
//   std::mt19937 random(seed);
//   ledger.take(anyCall(random, now_ns += 10));
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <utility>

#include "model/memory_call.h"

namespace tidegauge::testing {

inline model::MemoryCall anyCall(std::mt19937& random, int64_t now_ns) {
  auto pick = [&](uint64_t below) { return random() % below; };
  using namespace model;
  MemoryCall call;
  call.start_ns = now_ns - 1;
  call.end_ns = now_ns;
  call.thread = static_cast<uint32_t>(1 + pick(3));
  call.stack = static_cast<uint32_t>(pick(5));
  call.device = pick(3) == 0 ? kUnknownDevice : static_cast<int32_t>(pick(2));
  call.address = 0x10000 + 0x1000 * pick(24);
  call.size_bytes = 0x800 * (1 + pick(6));
  using V = Verb;
  using K = MemoryKind;
  static constexpr std::pair<V, K> kCalls[] = {
      {V::kAllocate, K::kDevice},    {V::kAllocate, K::kDevice},
      {V::kFree, K::kDevice},        {V::kAllocate, K::kPinnedHost},
      {V::kFree, K::kPinnedHost},    {V::kAllocate, K::kPool},
      {V::kFree, K::kPool},          {V::kCreate, K::kPoolItself},
      {V::kDestroy, K::kPoolItself}, {V::kTrim, K::kPoolItself},
      {V::kAllocate, K::kPhysical},  {V::kAllocate, K::kPhysical},
      {V::kFree, K::kPhysical},      {V::kRetain, K::kPhysical},
      {V::kMap, K::kPhysical},       {V::kMap, K::kPhysical},
      {V::kUnmap, K::kPhysical},     {V::kAllocate, K::kAddressRange},
      {V::kAllocate, K::kArray},     {V::kFree, K::kArray},
      {V::kAllocate, K::kAlias},     {V::kFree, K::kAlias},
      {V::kAllocate, K::kGraph},     {V::kAllocate, K::kBlock},
      {V::kAllocate, K::kBlock},     {V::kFree, K::kBlock},
      {V::kCreate, K::kContext},     {V::kRetain, K::kContext},
      {V::kRelease, K::kContext},    {V::kDestroy, K::kContext},
      {V::kSet, K::kContext},        {V::kPush, K::kContext},
      {V::kPop, K::kContext},        {V::kSet, K::kDevice},
      {V::kReset, K::kContext}};
  auto [verb, kind] = kCalls[pick(std::size(kCalls))];
  call.verb = verb;
  call.kind = kind;
  call.handle = 1 + pick(4);
  if (kind == K::kPhysical) call.device = static_cast<int32_t>(pick(2));
  if (kind == K::kContext) {
    call.handle = 100 + pick(4);
    if (verb == V::kReset && pick(4) != 0) call.verb = V::kSet;
    // A device has one primary context; others are made for a device.
    if (verb == V::kRetain || verb == V::kCreate) call.device = static_cast<int32_t>(pick(2));
    if (verb == V::kRetain) call.handle = 100 + static_cast<uint64_t>(call.device);
    if (verb == V::kCreate) call.handle = 102 + pick(2);
  }
  if (verb == V::kSet && kind == K::kDevice) {
    call.plane = Plane::kRuntime;
    call.handle = pick(2);
  }
  if (kind == K::kArray) call.handle = 0x500 + pick(4);
  if (kind == K::kBlock) {
    call.plane = Plane::kFramework;
    call.size_bytes = 0x100 * (1 + pick(4));
  }
  if (verb == V::kMap) call.size_bytes = 0x1000 * (1 + pick(3));
  return call;
}

}  // namespace tidegauge::testing
