// Which copying calls show the time of the transfer.
//
//   isTransferTime("host to device", false)      cudaMemcpy() of this direction waits: yes
//   isTransferTime("host to device", true)       cudaMemcpyAsync() only submits: no, "not timed"
//   isTransferTime("device to device", false)    no call waits for these
//
// Source: CUDA's "API synchronization behavior".
#pragma once

#include <string_view>

namespace tidegauge::model {

// Copies within the device, and those whose direction only the pointers show, may return earlier,
// even from functions that usually wait.
inline bool isTransferTime(std::string_view direction, bool submitted) {
  bool waits =
      direction == "host to device" || direction == "device to host" || direction == "host to host";
  return waits && !submitted;
}

}  // namespace tidegauge::model
