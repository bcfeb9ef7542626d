// Raises the limit of open files: the soft limit, usually 1,024, becomes the hard limit.
#pragma once

namespace tidegauge::base {

// Children inherit it: start them earlier, or set theirs.
void allowManyFiles();

}  // namespace tidegauge::base
