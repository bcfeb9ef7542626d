#include "cli/picture_file.h"

#include "cli/output.h"

namespace tidegauge::cli {

int writePicture(exporting::Canvas& canvas, const NewFile& file) {
  std::string picture = canvas.finish();
  if (picture.empty()) {
    complain("tidegauge: cairo could not draw the picture: nothing was written. Write an .svg");
    return 4;
  }
  return file.write(picture);
}

}  // namespace tidegauge::cli
