// Errors of the engine as exceptions of tidegauge.errors.
#pragma once

#include "base/result.h"

namespace tidegauge::python {

// Sets the exception. The GIL must be held.
void raise(const base::Error& error);
void raiseUsage(const char* what);

}  // namespace tidegauge::python
