#include "readers/torch/open_snapshots.h"

#include <fmt/format.h>

#include <optional>

#include "base/file_bytes.h"
#include "model/lives.h"
#include "readers/torch/unpack.h"

namespace tidegauge::readers::torch {

base::Result<std::vector<model::Trace>> openSnapshots(std::span<const uint8_t> bytes,
                                                      const std::string& name,
                                                      const ReadOptions& options) {
  std::vector<model::Trace> traces;
  std::optional<base::Error> skipped;  // the first member that is something else
  TG_RETURN_IF_ERROR(unpack(bytes, name, [&](const Unpacked& item) -> base::Status {
    base::Result<model::Trace> trace = readSnapshot(item.bytes, item.name, options);
    if (!trace.ok()) {
      bool damaged = isPickleOrJson(item.bytes) && trace.error().byte_offset.has_value();
      if (item.name != name)
        trace.error().what = fmt::format("{}: {}", item.name, trace.error().what);
      if (damaged) return std::move(trace.error());
      if (!skipped) skipped = std::move(trace.error());
      return base::okStatus();
    }
    trace.value().source.container = item.container;
    trace.value().source.file_bytes = bytes.size();
    traces.push_back(std::move(trace).value());
    return base::okStatus();
  }));
  // An archive may hold other things beside snapshots, but not only those.
  if (traces.empty()) {
    if (skipped) return std::move(*skipped);
    return base::Error{base::ErrorKind::kUnreadable, "contains no snapshot", std::nullopt, ""};
  }
  for (model::Trace& trace : traces) model::buildLives(trace);
  return traces;
}

base::Result<std::vector<model::Trace>> openSnapshots(const std::string& path,
                                                      const ReadOptions& options) {
  TG_ASSIGN_OR_RETURN(base::FileBytes file, base::FileBytes::open(path));
  return openSnapshots(file.bytes(), path == "-" ? "standard input" : path, options);
}

}  // namespace tidegauge::readers::torch
