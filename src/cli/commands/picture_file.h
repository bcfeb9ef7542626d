// A picture written to a file, or a line why not.
#pragma once

#include <memory>
#include <string>

#include "cli/options/new_file.h"
#include "export/plot/plot_canvas.h"

namespace tidegauge::cli {

// Asked before the work begins: the exit code of a picture that cannot be written, or 0. `option`
// named it; `input` as in NewFile::refuse.
int refusePicture(const std::string& option, const std::string& path, bool overwrite,
                  const std::string& input);

// What its name says it is: .svg or .png.
std::unique_ptr<exporting::Canvas> pictureCanvas(const std::string& path, uint32_t width,
                                                 uint32_t height, const std::string& title);

// Finishes the canvas; 0, or the exit code: nothing is written of what could not be drawn.
int writePicture(exporting::Canvas& canvas, const NewFile& file);

}  // namespace tidegauge::cli
