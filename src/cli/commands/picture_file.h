// A picture written to a file, or an error that says why not.
#pragma once

#include <memory>
#include <string>

#include "cli/options/new_file.h"
#include "export/plot/plot_canvas.h"

namespace tidegauge::cli {

// Checked before the work begins: the exit code if the picture cannot be written, or 0. `option`
// named it; `input` as in NewFile::refuse.
int refusePicture(const std::string& option, const std::string& path, bool overwrite,
                  const std::string& input);

// The format by its extension: .svg or .png.
std::unique_ptr<exporting::Canvas> pictureCanvas(const std::string& path, uint32_t width,
                                                 uint32_t height, const std::string& title);

// Finishes the canvas. Returns 0 or the exit code; writes nothing if drawing failed.
int writePicture(exporting::Canvas& canvas, const NewFile& file);

}  // namespace tidegauge::cli
