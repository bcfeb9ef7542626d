#include "analysis/program_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/text_pattern.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

using replay::Op;
using replay::Request;
using What = ProgramEdit::What;

base::Result<EditedProgram> withEmptyCache(const DeviceAnalysis& device,
                                           const replay::Program& program, Step step) {
  if (step >= device.device.steps())
    return base::Error{
        base::ErrorKind::kUsage, fmt::format("there is no step {}", base::withCommas(step)),
        std::nullopt,
        fmt::format("The device has steps 0 to {}.", base::withCommas(device.device.steps() - 1))};
  EditedProgram result{program, 1, 0};
  std::vector<Request>& requests = result.program.requests;
  auto at = std::ranges::find_if(requests, [&](const Request& it) { return it.step >= step; });
  Request flush;
  flush.op = Op::kEmptyCache;
  flush.step = step;
  requests.insert(at, flush);
  return result;
}

}  // namespace

base::Result<EditedProgram> edited(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const replay::Program& program, const ProgramEdit& edit) {
  if (edit.what == What::kEmptyCache) return withEmptyCache(device, program, edit.step);
  TG_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::compile(edit.pattern));
  const model::Trace& trace = analysed.trace;
  std::vector<bool> is_meant = stacksWith(trace, matchingFrames(trace, pattern));
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
  if (result.requests == 0)
    return base::Error{base::ErrorKind::kUsage,
                       fmt::format("no request's stack matches “{}”", edit.pattern), std::nullopt,
                       "It is looked for in \"file:line function\"; /…/ is a regular expression."};
  return result;
}

std::string words(const ProgramEdit& edit) {
  switch (edit.what) {
    case What::kDrop:
      return "without " + edit.pattern;
    case What::kHalve:
      return "half of " + edit.pattern;
    case What::kEmptyCache:
      return "empty_cache() at step " + base::withCommas(edit.step);
  }
  return "";
}

}  // namespace tidegauge::analysis
