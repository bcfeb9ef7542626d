#include "record/session/session_words.h"

#include <array>

#include "bpf/records.h"

namespace tidegauge::record {
namespace {

constexpr std::array<std::string_view, LOSS_KINDS> kReasons = {
    "memory ring full",
    "system ring full",
    "name ring full",
    "launch ring full",
    "no stack",
    "return without entry",
    "no room in flight",
    "no room for a thread",
    "memory not readable",
    "no room for a launch",
    "no room for a copy",
};

constexpr std::array<std::string_view, COPY_DIRECTIONS> kDirections = {
    "host to host",
    "host to device",
    "device to host",
    "device to device",
    "by the pointers",
    "peer to peer",
    "set",
};

}  // namespace

std::string_view lossReason(size_t loss) { return loss < LOSS_KINDS ? kReasons[loss] : "other"; }

std::string_view directionName(size_t direction) {
  return direction < COPY_DIRECTIONS ? kDirections[direction] : "other";
}

}  // namespace tidegauge::record
