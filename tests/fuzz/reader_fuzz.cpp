// Any bytes → openSnapshots → every column touched. Besides crashes and undefined behaviour, it
// checks what the rest of the program relies on: ids in range, columns of equal length, consistent
// ranges, valid UTF-8; and that the quick and the careful reader agree.
#include <cstdint>
#include <span>

#include "check_trace.h"
#include "readers/torch/unpack/open_snapshots.h"

namespace {

using namespace tidegauge;
using fuzz::require;

// Ids may differ between the two readers, their content may not.
void requireSame(const model::Trace& a, const model::Trace& b) {
  require(a.events.address == b.events.address && a.events.size_bytes == b.events.size_bytes);
  require(a.events.time_us == b.events.time_us);
  require(a.final_blocks.address == b.final_blocks.address);
  require(a.final_segments.address == b.final_segments.address);
  require(a.annotations.begin_us == b.annotations.begin_us);
  require(a.settings.items == b.settings.items);
  for (size_t row = 0; row < a.events.size(); ++row) {
    require(a.actionName(a.events.action[row]) == b.actionName(b.events.action[row]));
    model::StackId stack_a = a.events.stack[row], stack_b = b.events.stack[row];
    require(stack_a.valid() == stack_b.valid());
    if (!stack_a.valid()) continue;
    require(a.stacks.depth(stack_a) == b.stacks.depth(stack_b));
    for (size_t i = 0; i < a.stacks.depth(stack_a); ++i) {
      size_t frame_a = a.stacks.framesOf(stack_a)[i].index();
      size_t frame_b = b.stacks.framesOf(stack_b)[i].index();
      require(a.frames.line[frame_a] == b.frames.line[frame_b]);
      require(a.strings.text(a.frames.file[frame_a]) == b.strings.text(b.frames.file[frame_b]));
    }
  }
}

// So do the names of tensors.
void requireSameTensors(const model::Trace& a, const model::Trace& b) {
  require((a.tensors == nullptr) == (b.tensors == nullptr));
  if (!a.tensors) return;
  require(a.tensors->address == b.tensors->address && a.tensors->kind == b.tensors->kind);
  require(a.tensors->time_us == b.tensors->time_us);
  require(a.tensors->allocation == b.tensors->allocation);
  for (size_t row = 0; row < a.tensors->size(); ++row) {
    require(a.strings.text(a.tensors->name[row]) == b.strings.text(b.tensors->name[row]));
    require(a.strings.text(a.tensors->shape[row]) == b.strings.text(b.tensors->shape[row]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> bytes(data, size);
  readers::torch::ReadOptions careful;
  careful.careful = true;
  auto quick_traces = readers::torch::openSnapshots(bytes, "fuzz", {});
  auto careful_traces = readers::torch::openSnapshots(bytes, "fuzz", careful);
  require(quick_traces.ok() == careful_traces.ok());
  if (!quick_traces.ok()) {
    require(!quick_traces.error().what.empty());
    return 0;
  }
  require(quick_traces.value().size() == careful_traces.value().size());
  for (size_t i = 0; i < quick_traces.value().size(); ++i) {
    const model::Trace& trace = quick_traces.value()[i];
    fuzz::checkTrace(trace);
    requireSame(trace, careful_traces.value()[i]);
    requireSameTensors(trace, careful_traces.value()[i]);
  }
  return 0;
}
