// Takes a survey: window after window, as long as was asked for.
//
//   ends with a result (shrink, spot)   until it has it
//   no pause                            one window
//   a pause (-s)                        windows with pauses, until the time is over
#pragma once

#include <functional>
#include <optional>

#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct SurveyPlan {
  int64_t window_ns = 0;
  std::optional<int64_t> pause_ns{};
  double total_s = 0;  // ends after the window in which this has passed; 0: no limit
};

// Calls `onRow` for each window; false ends it. If the clock ends it early, that is not an error.
base::Status takeSurvey(Survey& survey, const SurveyPlan& plan, Clock& clock,
                        const std::function<bool(const SurveyRow&)>& onRow);

}  // namespace tidegauge::wss
