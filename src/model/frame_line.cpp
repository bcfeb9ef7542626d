#include "model/frame_line.h"

#include <fmt/format.h>

namespace tidegauge::model {
namespace {

std::string_view lastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string frameLine(const FramePlace& place) {
  std::string text = fmt::format("{:#x}", place.offset);
  if (!place.file.empty()) {
    text = lastPart(place.file);
    if (place.line != 0) text += fmt::format(":{}", place.line);
  } else if (!place.module.empty()) {
    text = fmt::format("{}+{}", lastPart(place.module), text);
  }
  if (place.function.empty()) return text;
  return fmt::format("{} {}", text, place.function);
}

}  // namespace tidegauge::model
