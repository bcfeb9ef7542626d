// Advice with a size, in words: from which share of what scales on the program fits.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/sizes.h"
#include "report/what_if/what_if_text.h"

namespace tidegauge::report {

std::string factorWords(const analysis::FitFactor& fit) {
  return fmt::format("{:g}", fit.factor.value_or(0));
}

std::string constantWords(const analysis::FitFactor& fit) {
  std::vector<std::pair<uint64_t, const char*>> parts{
      {fit.parameter_bytes, "parameters"},
      {fit.optimizer_bytes, "the optimizer"},
      {fit.gradient_bytes, "gradients"},
      {fit.communication_bytes, "communication"},
      {fit.older_bytes, "memory older than the recording"},
      {fit.never_freed_bytes, "memory that is never freed"}};
  std::erase_if(parts, [](const auto& part) { return part.first == 0; });
  std::ranges::stable_sort(parts, std::greater<>(), &std::pair<uint64_t, const char*>::first);
  if (parts.size() == 1) return fmt::format(" ({})", parts.front().second);
  std::string words;
  for (const auto& [bytes, name] : parts)
    words += fmt::format("{}{} for {}", words.empty() ? ": " : ", ", base::humanBytes(bytes), name);
  return words;
}

std::vector<std::string> fitSentences(const analysis::FitFactor& fit) {
  if (!fit.is_proven) return {};
  std::string scaling = base::humanBytes(fit.scaling_bytes),
              constant = base::humanBytes(fit.constant_bytes);
  if (fit.scaling_bytes == 0) {  // nothing but the request itself is known to scale
    if (!fit.factor || !fit.request_scales) return {};
    return {
        fmt::format("Every request would fit if those that fail (the first at step {0}), and what "
                    "was allocated and freed before them, were at most {1} of their size; {2}.",
                    base::withCommas(fit.step), factorWords(fit),
                    fit.constant_bytes == 0 ? "nothing else is active"
                                            : constant + " stay constant" + constantWords(fit))};
  }
  std::string what =
      fit.constant_bytes == 0
          ? fmt::format(
                "Where the first request fails (step {}), all {} are taken to scale with the "
                "batch: nothing is known to stay constant. If something does, the factor is lower.",
                base::withCommas(fit.step), scaling)
          : fmt::format(
                "Where the first request fails (step {}), {} are taken to scale with the batch and "
                "{} to stay constant{}.",
                base::withCommas(fit.step), scaling, constant, constantWords(fit));
  if (!fit.factor)
    return {
        fmt::format("A smaller batch does not help: a request fails even with 0.01 of today's "
                    "activations. {}",
                    what)};
  std::string batch;
  if (fit.batch > 0)
    batch = fmt::format(": for example a batch of {} instead of {}, if they scale with it",
                        fit.batch, analysis::FitFactor::kBatchOf);
  return {
      fmt::format("With its own settings, the program fits from {} of today's activations "
                  "on{}. {}",
                  factorWords(fit), batch, what)};
}

}  // namespace tidegauge::report
