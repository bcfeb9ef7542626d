// LibraryProbes: places the probes on the functions of one library, and says which of them could
// not be placed.
//
//   libcuda.so.1, 61 functions ─► memory_enter, memory_exit, context_…, copy_…, launch_enter: one
//   uprobe_multi link each, about 10 ms for all; a link per function takes minutes to detach.
//   libc10_cuda.so ─► its static probes, pytorch:malloc and pytorch:free
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/incomplete.h"
#include "record/kernel/functions.h"
#include "record/kernel/programs.h"
#include "record/process/process_maps.h"

namespace tidegauge::record {

// The result for one library: for messages, `doctor` and the recording.
struct WatchedLibrary {
  FileId file;
  std::string path;  // as the process saw it
  std::string build_id;
  Library kind = Library::kDriver;
  size_t functions = 0;               // found and watched
  size_t after_stub = 0;              // of these, probed after the stub (see probeSkip)
  int64_t placed_ns = 0;              // when its probes were in place, as evenClock()
  std::vector<std::string> problems;  // "no symbols: it is stripped"
  // The parts that are not watched, the same for every process that maps it.
  std::vector<model::Unwatched> unwatched;
};

// What is in the kernel for one file.
struct PlacedProbes {
  std::vector<int> links;
  std::vector<uint32_t> places;  // of static probes, in the map probe_places
  void detach(const Programs& programs);
};

class LibraryProbes {
 public:
  explicit LibraryProbes(const Programs& programs) : programs_(programs) {}
  // `path`: the file from here. Completes `library`, whose kind and path are known.
  PlacedProbes place(const std::string& path, WatchedLibrary& library);

 private:
  PlacedProbes placeOnFunctions(const std::string& path, WatchedLibrary& library) const;
  PlacedProbes placeOnFramework(const std::string& path, WatchedLibrary& library);

  const Programs& programs_;
  uint32_t last_place_ = 0;
};

// Nothing of the library is watched: why, and the figures that lack it.
void noteUnwatchedLibrary(const std::string& why, model::FigureSet figures,
                          WatchedLibrary& library);

// The figures that need the functions of a library.
model::FigureSet figuresOf(Library library);

// By the name of the file: "libcudart.so.13", "libcudart-a1b2c3.so.12", "libcuda.so.1"; absent for
// any other file, which is watched only if it is the program itself and has the runtime linked in.
std::optional<Library> libraryKind(std::string_view path);

}  // namespace tidegauge::record
