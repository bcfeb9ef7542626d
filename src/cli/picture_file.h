// A picture written to a file, or a line why not.
#pragma once

#include "cli/new_file.h"
#include "export/plot_canvas.h"

namespace tidegauge::cli {

// Finishes the canvas; 0, or the exit code: nothing is written of what could not be drawn.
int writePicture(exporting::Canvas& canvas, const NewFile& file);

}  // namespace tidegauge::cli
