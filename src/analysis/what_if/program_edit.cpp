#include "analysis/what_if/program_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "analysis/labels/text_pattern.h"
#include "analysis/what_if/freed_early.h"
#include "base/format.h"
#include "base/text_layout.h"

namespace tidegauge::analysis {
namespace {

using replay::Op;
using replay::Request;
using What = ProgramEdit::What;

base::Error unusable(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), std::nullopt, std::move(hint)};
}

// The step, if the text consists of digits only.
std::optional<uint64_t> stepIn(const std::string& where) {
  uint64_t step = 0;
  auto [end, error] = std::from_chars(where.data(), where.data() + where.size(), step);
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  if (error != std::errc() || end != where.data() + where.size()) return std::nullopt;
  return step;
}

std::string placeWords(const std::string& where) {
  auto step = stepIn(where);
  return step ? "step " + base::withCommas(*step) : where;
}

// Names of a few existing phases, for an error about an unknown name.
std::string someNames(const model::Trace& trace, const std::vector<Phase>& phases) {
  constexpr size_t kShown = 5;
  std::vector<model::StringId> names;
  for (const Phase& phase : phases) {
    model::StringId name = trace.annotations.name[phase.annotation];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (names.size() > kShown) break;
  }
  if (names.empty())
    return "The recording has no phases (torch.profiler.record_function). Name a step.";
  std::string text = "The phases are: ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + base::printable(trace.strings.text(names[i]));
  return text + (names.size() > kShown ? ", …" : ".");
}

// Ascending, each once.
base::Result<std::vector<Step>> stepsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                        const std::string& where) {
  if (auto step = stepIn(where)) {
    if (*step == UINT64_MAX)
      return unusable("there is no step " + where, "Its number is too large.");
    Step steps = device.device.steps();
    if (*step < steps) return std::vector<Step>{static_cast<Step>(*step)};
    return unusable(
        fmt::format("there is no step {}", base::withCommas(*step)),
        steps == 0 ? "The device has no events."
                   : fmt::format("The device has steps 0 to {}.", base::withCommas(steps - 1)));
  }
  TG_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::compile(where));
  const model::Trace& trace = analysed.trace;
  std::vector<Step> steps;
  for (const Phase& phase : device.phases) {
    bool is_here = phase.begin_step < phase.end_step;
    if (is_here && pattern.matches(trace.strings.text(trace.annotations.name[phase.annotation])))
      steps.push_back(phase.begin_step);
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (steps.empty())
    return unusable(fmt::format("there is no phase “{}”", where), someNames(trace, device.phases));
  return steps;
}

base::Result<EditedProgram> withEmptyCaches(const AnalysedTrace& analysed,
                                            const DeviceAnalysis& device,
                                            const replay::Program& program,
                                            const std::string& where) {
  TG_ASSIGN_OR_RETURN(std::vector<Step> steps, stepsOf(analysed, device, where));
  EditedProgram result;
  result.program.names = program.names;
  result.requests = steps.size();
  auto at = steps.begin();
  auto flushUntil = [&](uint64_t step) {
    for (; at != steps.end() && *at <= step; ++at) {
      Request flush;
      flush.op = Op::kEmptyCache;
      flush.step = *at;
      result.program.requests.push_back(flush);
    }
  };
  for (const Request& request : program.requests) {
    flushUntil(request.step);
    result.program.requests.push_back(request);
  }
  flushUntil(UINT64_MAX);
  return result;
}

base::Error nobodyAsks(const std::string& pattern) {
  bool is_chain = pattern.find("‹") != std::string::npos;
  return unusable(fmt::format("no stack of a request matches “{}”", pattern),
                  is_chain
                      ? "Name one frame of it, such as the text before the first ‹."
                      : "Tidegauge searches the text \"file:line function\" of every frame; write "
                        "/…/ for a regular expression.");
}

base::Result<EditedProgram> freedEarlier(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device,
                                         const replay::Program& program, const ProgramEdit& edit,
                                         const std::vector<bool>& is_meant) {
  TG_ASSIGN_OR_RETURN(std::vector<Step> steps, stepsOf(analysed, device, edit.where));
  const model::Trace& trace = analysed.trace;
  auto isMeant = [&](model::StackId stack) { return stack.valid() && is_meant[stack.index()]; };
  FreedEarly freed(analysed, device, program,
                   {[&](const Request& request) {
                      return isMeant(trace.events.stack[device.device.event_begin + request.step]);
                    },
                    [&](uint64_t row) { return isMeant(trace.allocations.stack[row]); }});
  EditedProgram result;
  result.program.names = program.names;
  auto at = steps.begin();
  for (const Request& request : program.requests) {
    for (; at != steps.end() && *at <= request.step; ++at)
      freed.freeAll(*at, result.program.requests);
    freed.take(request, result.program.requests);
  }
  for (; at != steps.end(); ++at) freed.freeAll(*at, result.program.requests);
  result.requests = freed.blocks();
  result.bytes = freed.bytes();
  if (!freed.isFound()) return nobodyAsks(edit.pattern);
  if (result.requests == 0)
    return unusable(fmt::format("no block that “{}” requested is active at {}", edit.pattern,
                                placeWords(edit.where)),
                    "Name a step, or a phase that begins before the block is freed.");
  return result;
}

}  // namespace

base::Result<EditedProgram> edited(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const replay::Program& program, const ProgramEdit& edit) {
  bool has_place = edit.what == What::kEmptyCache || edit.what == What::kFreeAt;
  auto isEmpty = [](const std::string& text) { return text.empty() || text == "//"; };
  if ((edit.what != What::kEmptyCache && isEmpty(edit.pattern)) ||
      (has_place && isEmpty(edit.where)))
    return unusable("an empty text would match all stacks or all phases",
                    "Write /./ to match all.");
  if (edit.what == What::kEmptyCache) return withEmptyCaches(analysed, device, program, edit.where);
  TG_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::compile(edit.pattern));
  const model::Trace& trace = analysed.trace;
  std::vector<bool> is_meant = stacksWith(trace, matchingFrames(trace, pattern));
  if (edit.what == What::kFreeAt) return freedEarlier(analysed, device, program, edit, is_meant);
  EditedProgram result;
  result.program.names = program.names;
  std::vector<bool> is_changed(program.names);
  for (const Request& request : program.requests) {
    if (request.op == Op::kMalloc) {
      model::StackId stack = trace.events.stack[device.device.event_begin + request.step];
      if (stack.valid() && is_meant[stack.index()]) {
        is_changed[request.name] = true;
        ++result.requests;
        result.bytes += request.bytes;
        if (edit.what == What::kDrop) continue;
        Request half = request;
        half.bytes = std::max<uint64_t>(1, half.bytes / 2);
        result.program.requests.push_back(half);
        continue;
      }
    }
    bool is_of_dropped = edit.what == What::kDrop &&
                         (request.op == Op::kFree || request.op == Op::kDone) &&
                         is_changed[request.name];
    if (!is_of_dropped) result.program.requests.push_back(request);
  }
  if (result.requests == 0) return nobodyAsks(edit.pattern);
  return result;
}

std::string words(const ProgramEdit& edit) {
  switch (edit.what) {
    case What::kDrop:
      return "without " + edit.pattern;
    case What::kHalve:
      return "half of " + edit.pattern;
    case What::kFreeAt:
      return edit.pattern + " freed at " + placeWords(edit.where);
    case What::kEmptyCache:
      return "empty_cache() at " + placeWords(edit.where);
  }
  return "";
}

}  // namespace tidegauge::analysis
