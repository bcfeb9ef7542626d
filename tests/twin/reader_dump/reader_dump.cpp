// reader_dump FILE [--careful] [--no-lines]: writes everything that the reader read as lines of
// text, with an order and numbers that do not depend on the reader's ids. reader_twin.py makes the
// same lines from Python's unpickler and compares. --no-lines: only reads.
//
//   e 0 alloc 140000 512 0 - 0,0 - - - 3     one event: device, action, address, size, stream, …
//   s 3 2                                    stack 3 has two frames, innermost first:
//   f train.py 12 forward -                  "F" instead of "f": of the forward pass
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/tensors/tensors.h"
#include "readers/torch/unpack/open_snapshots.h"

namespace {

using namespace tidegauge;

std::string escaped(std::string_view text) {
  std::string result;
  for (char letter : text) {
    if (letter == '\\') {
      result += "\\\\";
    } else if (letter == '\n') {
      result += "\\n";
    } else if (letter == ' ') {
      result += "\\s";
    } else {
      result += letter;
    }
  }
  return result.empty() ? "\\e" : result;
}

class Dump {
 public:
  explicit Dump(const model::Trace& trace) : trace_(trace) {}

  void write() {
    for (const model::Device& device : trace_.devices) writeDevice(device);
    writeAnnotations();
    writeTensors();
    writeSettings();
    writeStacks();
    writeIssues();
    std::fwrite(out_.data(), 1, out_.size(), stdout);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_.push_back('\n');
    if (out_.size() > (1 << 20)) {
      std::fwrite(out_.data(), 1, out_.size(), stdout);
      out_.clear();
    }
  }
  std::string text(model::StringId id) const {
    return id.valid() ? escaped(trace_.strings.text(id)) : "-";
  }
  std::string stack(model::StackId id) {
    if (!id.valid()) return "-";
    auto [place, added] = stack_numbers_.try_emplace(id.value, stack_numbers_.size());
    if (added) stacks_.push_back(id);
    return fmt::format("{}", place->second);
  }
  std::string pool(model::PoolId id) const {
    if (!id.valid()) return "-";
    const model::Pool& pool = trace_.pools[id.index()];
    return fmt::format("{},{}", pool.first, pool.second);
  }
  static std::string time(int64_t time_us) {
    return time_us == model::kNoTime ? "-" : fmt::format("{}", time_us);
  }
  static std::string bytes(uint64_t bytes) {
    return bytes == model::kUnknownBytes ? "-" : fmt::format("{}", bytes);
  }
  std::string optionalText(const model::UniformColumn<model::StringId>& column, size_t row) const {
    return column.empty() ? "-" : text(column[row]);
  }

  void writeDevice(const model::Device& device) {
    line("d {} {} {}", device.ordinal, device.event_end - device.event_begin,
         device.final_segment_end - device.final_segment_begin);
    const model::Events& events = trace_.events;
    for (uint64_t row = device.event_begin; row < device.event_end; ++row) {
      line("e {} {} {} {} {} {} {} {} {} {} {} {}", device.ordinal,
           escaped(trace_.actionName(events.action[row])), events.address[row],
           events.size_bytes[row], trace_.streams[events.stream[row].index()].raw,
           time(events.time_us.empty() ? model::kNoTime : events.time_us[row]),
           events.pool.empty() ? "-" : pool(events.pool[row]),
           optionalText(events.compile_context, row), optionalText(events.metadata, row),
           optionalText(events.category, row), optionalText(events.internal_metadata, row),
           stack(events.stack[row]));
    }
    for (uint64_t row = device.final_segment_begin; row < device.final_segment_end; ++row) {
      writeSegment(row);
    }
  }

  void writeSegment(uint64_t row) {
    const model::FinalSegments& segments = trace_.final_segments;
    const model::FinalBlocks& blocks = trace_.final_blocks;
    line("g {} {} {} {} {} {} {} {} {} {} {}", segments.device[row], segments.address[row],
         bytes(segments.total_bytes[row]), bytes(segments.allocated_bytes[row]),
         bytes(segments.active_bytes[row]), bytes(segments.requested_bytes[row]),
         model::name(segments.kind[row]), segments.small_pool[row] ? 1 : 0,
         trace_.streams[segments.stream[row].index()].raw, pool(segments.pool[row]),
         stack(segments.stack[row]));
    for (uint64_t block = segments.block_begin[row]; block < segments.block_end[row]; ++block) {
      line("b {} {} {} {} {}", blocks.address[block], blocks.size_bytes[block],
           blocks.requested_bytes[block], model::name(blocks.state[block]),
           stack(blocks.stack[block]));
    }
  }

  void writeAnnotations() {
    const model::Annotations& rows = trace_.annotations;
    for (size_t row = 0; row < rows.size(); ++row) {
      line("a {} {} {} {} {}", rows.device[row], text(rows.name[row]), time(rows.begin_us[row]),
           time(rows.end_us[row]), rows.depth[row]);
    }
  }

  void writeTensors() {
    if (!trace_.tensors) return;
    const model::Tensors& rows = *trace_.tensors;
    for (size_t row = 0; row < rows.size(); ++row) {
      line("n {} {} {} {} {} {} {} {} {} {}", rows.device[row], rows.address[row],
           bytes(rows.size_bytes[row]), text(rows.name[row]), model::name(rows.kind[row]),
           text(rows.of[row]), text(rows.state[row]), text(rows.shape[row]), text(rows.dtype[row]),
           time(rows.time_us[row]));
    }
  }

  void writeSettings() {
    const model::AllocatorSettings& settings = trace_.settings;
    line("t {} {} {} {} {}", settings.present ? 1 : 0, escaped(settings.conf),
         settings.expandable_segments ? 1 : 0, bytes(settings.max_split_bytes),
         fmt::join(settings.roundup_power2_divisions, ","));
    for (const auto& [key, value] : settings.items) line("i {} {}", escaped(key), escaped(value));
  }

  void writeStacks() {
    for (size_t number = 0; number < stacks_.size(); ++number) {
      model::StackId id = stacks_[number];
      line("s {} {}", number, trace_.stacks.depth(id));
      for (size_t i = 0; i < trace_.stacks.depth(id); ++i) {
        size_t frame = trace_.stacks.framesOf(id)[i].index();
        bool forward = trace_.frames.kind[frame] == model::FrameKind::kForward;
        line("{} {} {} {} {}", forward ? 'F' : 'f', text(trace_.frames.file[frame]),
             trace_.frames.line[frame], text(trace_.frames.function[frame]),
             text(trace_.frames.note[frame]));
      }
    }
  }

  void writeIssues() {
    for (model::IssueKind kind : {model::IssueKind::kUnknownKey, model::IssueKind::kUnknownAction,
                                  model::IssueKind::kUnorderedTime}) {
      line("u {} {}", model::name(kind), trace_.issues.count(kind));
    }
  }

  const model::Trace& trace_;
  std::string out_;
  std::unordered_map<uint32_t, size_t> stack_numbers_;
  std::vector<model::StackId> stacks_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  readers::torch::ReadOptions options;
  bool writes = true;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--careful") {
      options.careful = true;
    } else if (argument == "--no-lines") {
      writes = false;
    } else {
      path = argument;
    }
  }
  auto traces = readers::torch::openSnapshots(path, options);
  if (!traces.ok()) {
    const base::Error& error = traces.error();
    std::string where =
        error.byte_offset ? fmt::format(" (at byte {})", *error.byte_offset) : std::string();
    fmt::print(stderr, "{}: {}{}. {}\n", path, error.what, where, error.hint);
    return 3;
  }
  if (!writes) return 0;
  for (const model::Trace& trace : traces.value()) Dump(trace).write();
  return 0;
}
