// PreloadArea: two files in memory that programs find through their environment: the library to
// preload (LD_PRELOAD), and the memory for its records (preload/shared.h).
//
//   PreloadArea area = PreloadArea::make(options) // LD_PRELOAD=/proc/RECORDER/fd/7
//   area->head.losses[LOSS_STACK]                 // programs may write anything there, at any time
//
// Both vanish with the recorder, however it ends. Cost: the memory of the ring, 8 MiB by default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "preload/shared.h"

namespace tidegauge::record {

// The library's file in memory, and how /proc/PID/maps names it.
inline constexpr char kPreloadName[] = "tidegauge-preload";
inline constexpr char kPreloadLibrary[] = "/memfd:tidegauge-preload";

struct PreloadOptions {
  bool take_stacks = true;
  bool launch_events = false;
  bool walk_python = true;  // its frames, file and line
  uint64_t ring_bytes = uint64_t{8} << 20;
};

class PreloadArea {
 public:
  static base::Result<PreloadArea> make(const PreloadOptions& options);
  PreloadArea(PreloadArea&& other) noexcept;
  PreloadArea& operator=(PreloadArea&&) = delete;
  ~PreloadArea();

  // Variables for a program's environment. LD_PRELOAD keeps its existing entries.
  std::vector<std::string> environment() const;
  preload_area& operator*() const { return *area_; }
  preload_area* operator->() const { return area_; }
  uint32_t chunks() const { return chunks_; }

 private:
  PreloadArea(int library, int records, preload_area* area, uint64_t bytes, uint32_t chunks)
      : library_(library), records_(records), area_(area), bytes_(bytes), chunks_(chunks) {}
  int library_ = -1, records_ = -1;
  preload_area* area_ = nullptr;
  uint64_t bytes_ = 0;
  uint32_t chunks_ = 0;
};

}  // namespace tidegauge::record
