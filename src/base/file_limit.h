// As many open files as this process may have: the soft limit, 1,024 by habit, becomes the hard
// one.
#pragma once

namespace tidegauge::base {

// Children inherit it: start them before, or give them their own.
void allowManyFiles();

}  // namespace tidegauge::base
