// Several processes that are measured together: what their printers are given beside each window.
#pragma once

#include "wss/choice/choose.h"
#include "wss/measure/several.h"
#include "wss/output/rolling_windows.h"
#include "wss/process/watched.h"

namespace tidegauge::wss {

// The same for all windows; whoever prints keeps references.
struct SeveralSubject {
  const Watched& watched;
  const Choice& choice;
  const Plan& plan;
  bool knows_frames = false;                // SeveralOptions::knows_frames
  const RollingWindows* rolling = nullptr;  // nullptr: no --rolling
};

}  // namespace tidegauge::wss
