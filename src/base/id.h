// Typed 32-bit and 16-bit indices: a StackId cannot be passed as a FrameId.
//
//   using StackId = Id<struct StackTag>;
//   StackId none;            // !none.valid()
//   StackId first{0};
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tidegauge::base {

template <class Tag, class Int = uint32_t>
struct Id {
  static constexpr Int kNone = std::numeric_limits<Int>::max();
  Int value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(Int v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace tidegauge::base
