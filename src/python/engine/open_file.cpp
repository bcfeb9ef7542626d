#include "python/engine/open_file.h"

#include <fmt/format.h>

#include "base/format.h"
#include "base/memory/cut_files.h"
#include "readers/recording/open_recording.h"
#include "report/recording/damage.h"

namespace tidegauge::python {
namespace {

// Thrown through the reader by its report of progress, which is the one place where it can end.
struct Stopped {};

void endIfStopped(const OpenWish& wish) {
  if (wish.stop.stop_requested()) throw Stopped();
}

base::Result<std::shared_ptr<const analysis::CategoryRules>> rulesOf(const OpenWish& wish) {
  using analysis::CategoryRules;
  if (wish.categories.empty()) return std::shared_ptr<const CategoryRules>();
  TG_ASSIGN_OR_RETURN(CategoryRules rules, CategoryRules::parse(wish.categories));
  return std::make_shared<const CategoryRules>(std::move(rules));
}

FileResult analysed(std::vector<model::Trace>&& traces, const std::string& name,
                    const OpenWish& wish, std::vector<std::string>&& warnings) {
  TG_ASSIGN_OR_RETURN(auto rules, rulesOf(wish));
  auto file = std::make_shared<OpenFile>();
  file->warnings = std::move(warnings);
  for (model::Trace& trace : traces) {
    std::string& of = trace.source.name;  // of a member of an archive: without the archive
    if (of != name && !of.starts_with(name + "/")) of.insert(0, name + "/");
    endIfStopped(wish);
    file->traces.push_back(
        {std::make_unique<analysis::AnalysedTrace>(std::move(trace), rules), nullptr});
  }
  std::vector<const analysis::AnalysedTrace*> all;
  for (const OpenTrace& trace : file->traces) all.push_back(trace.analysed.get());
  analysis::WholeRecordings wholes = analysis::wholeRecordings(all);
  for (OpenTrace& trace : file->traces)
    trace.database = std::make_unique<query::Database>(*trace.analysed, query::Scope(),
                                                       analysis::wholeOf(wholes, *trace.analysed));
  const model::Trace& last = file->traces.back().analysed->trace;
  std::string damage =
      last.work != nullptr ? report::damageOf(last, name) : report::unreadMembersOf(last, name);
  if (!damage.empty()) file->warnings.push_back(std::move(damage));
  return file;
}

readers::torch::ReadOptions readOptions(const OpenWish& wish, std::vector<std::string>& warnings) {
  readers::torch::ReadOptions options;
  options.progress = [&wish](uint64_t, uint64_t) { endIfStopped(wish); };
  options.short_of_memory = [&warnings](uint64_t need_bytes, uint64_t free_bytes) {
    warnings.push_back(
        fmt::format("reading it may take {} of memory beside the file, and {} are free",
                    base::humanBytes(need_bytes), base::humanBytes(free_bytes)));
  };
  return options;
}

// `read` gets the options and returns traces.
template <class Read>
FileResult opened(const std::string& name, const OpenWish& wish, const Read& read) {
  base::CutFilesReadAsZeros cut_files;
  std::vector<std::string> warnings;
  try {
    TG_ASSIGN_OR_RETURN(std::vector<model::Trace> traces, read(readOptions(wish, warnings)));
    return analysed(std::move(traces), name, wish, std::move(warnings));
  } catch (const Stopped&) {
    return base::Error{base::ErrorKind::kLimit, "it was cancelled", std::nullopt, ""};
  } catch (const std::bad_alloc&) {
    return base::Error{base::ErrorKind::kLimit, "not enough memory to open it", std::nullopt, ""};
  }
}

}  // namespace

FileResult openFile(const std::string& path, const OpenWish& wish) {
  return opened(path, wish, [&](const readers::torch::ReadOptions& options) {
    if (readers::recording::isSqliteFile(path))
      return readers::recording::openRecording(path, {options.progress});
    return readers::torch::openSnapshots(path, options);
  });
}

FileResult openBytes(std::span<const uint8_t> bytes, const std::string& name,
                     const OpenWish& wish) {
  return opened(name, wish, [&](const readers::torch::ReadOptions& options) {
    return readers::torch::openSnapshots(bytes, name, options);
  });
}

FileResult openObjects(const readers::torch::FeedObjects& feed, const std::string& name,
                       const OpenWish& wish) {
  return opened(name, wish, [&](const readers::torch::ReadOptions& options) {
    return readers::torch::openSnapshots(feed, name, options);
  });
}

}  // namespace tidegauge::python
