// Measures processes that begin and end meanwhile.
//
//   windows that begin anew (-s, --rolling)   before each: who began since the one before
//   all others                                those who were there at first
#pragma once

#include <functional>
#include <span>

#include "wss/measure/measure.h"
#include "wss/process/watched.h"

namespace tidegauge::wss {

// Calls `onRows` with the outcomes of watched.processes(), in that order, for each window; false
// ends it. Who cannot be measured any more is forgotten after the window. As measureAll() it ends
// early, without an error, when the clock says so.
base::Status measureWatched(Watched& watched, Backend& backend, const Plan& plan, Clock& clock,
                            const std::function<bool(std::span<const Outcome>)>& onRows);

}  // namespace tidegauge::wss
