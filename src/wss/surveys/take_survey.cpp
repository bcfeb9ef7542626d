#include "wss/surveys/take_survey.h"

namespace tidegauge::wss {

base::Status takeSurvey(Survey& survey, const SurveyPlan& plan, Clock& clock,
                        const std::function<bool(const SurveyRow&)>& onRow) {
  bool repeats = plan.pause_ns || survey.head(plan.window_ns).ends_with_result;
  int64_t begin_ns = clock.now_ns();
  for (;;) {
    TG_ASSIGN_OR_RETURN(auto row, survey.next(clock, plan.window_ns));
    if (!row) break;
    bool is_read = onRow(*row);
    bool is_over =
        plan.total_s > 0 && static_cast<double>(clock.now_ns() - begin_ns) >= plan.total_s * 1e9;
    if (!repeats || is_over) break;
    if (plan.pause_ns) clock.sleep(*plan.pause_ns);
    if (clock.isEnding() || !is_read) break;
  }
  return base::okStatus();
}

}  // namespace tidegauge::wss
