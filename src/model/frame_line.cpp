#include "model/frame_line.h"

#include <fmt/format.h>

namespace tidegauge::model {
namespace {

std::string_view lastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string frameLine(const FramePlace& frame) {
  std::string place = fmt::format("{:#x}", frame.offset);
  if (!frame.file.empty()) {
    place = lastPart(frame.file);
    if (frame.line != 0) place += fmt::format(":{}", frame.line);
  } else if (!frame.module.empty()) {
    place = fmt::format("{}+{}", lastPart(frame.module), place);
  }
  if (frame.function.empty()) return place;
  return fmt::format("{} {}", place, frame.function);
}

}  // namespace tidegauge::model
