#include "cli/commands/picture_file.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"

namespace tidegauge::cli {
namespace {

bool isPng(const std::string& path) { return base::lowerAscii(path).ends_with(".png"); }

}  // namespace

int refusePicture(const std::string& option, const std::string& path, bool overwrite,
                  const std::string& input) {
  if (!isPng(path) && !base::lowerAscii(path).ends_with(".svg"))
    return usageError(fmt::format("{} can write .svg or .png, not “{}”", option, path));
  if (isPng(path) && !exporting::hasPng()) {
    complain(
        "tidegauge: this build cannot write PNG, because it has no cairo. Write an .svg file.");
    return 4;
  }
  return NewFile(path, overwrite, option).refuse(input);
}

std::unique_ptr<exporting::Canvas> pictureCanvas(const std::string& path, uint32_t width,
                                                 uint32_t height, const std::string& title) {
  return isPng(path) ? exporting::pngCanvas(width, height)
                     : exporting::svgCanvas(width, height, title);
}

int writePicture(exporting::Canvas& canvas, const NewFile& file) {
  std::string picture = canvas.finish();
  if (picture.empty()) {
    complain(
        "tidegauge: cairo could not draw the picture, so nothing was written. Write an .svg file.");
    return 4;
  }
  return file.write(picture);
}

}  // namespace tidegauge::cli
