#include "wss/pte/bpf_loader.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace tidegauge::wss {
namespace {

// What the loading program reads and answers: the layout is that of libbpf's skel_internal.h.
struct MapDescription {
  int file;
  uint32_t max_entries;    // 0: as in the object
  uint64_t initial_value;  // an address; 0: zeros
};
struct Context {
  uint32_t bytes = sizeof(Context);
  uint32_t flags = 0, log_level = 0, log_bytes = 0;
  uint64_t log = 0;
  MapDescription maps[kLoadedMaps] = {};
  int program = 0;
  uint32_t unused = 0;
};

}  // namespace

std::optional<LoadedProgram> loadByProgram(std::span<const unsigned char> loader) {
  std::array<uint32_t, 2> sizes{};  // of instructions, of data
  if (loader.size() < sizeof(sizes)) return std::nullopt;
  std::memcpy(sizes.data(), loader.data(), sizeof(sizes));
  const auto [code_bytes, data_bytes] = sizes;
  std::span<const unsigned char> rest = loader.subspan(sizeof(sizes));
  if (rest.size() != size_t{code_bytes} + data_bytes) return std::nullopt;

  int data = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tidegauge_load", sizeof(uint32_t), data_bytes, 1,
                            nullptr);
  if (data < 0) return std::nullopt;
  uint32_t key = 0;
  int program = -1;
  if (bpf_map_update_elem(data, &key, rest.data() + code_bytes, 0) == 0) {
    bpf_prog_load_opts options{};
    options.sz = sizeof(options);
    options.prog_flags = BPF_F_SLEEPABLE;
    options.fd_array = &data;
    program = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "tidegauge_load", "Dual BSD/GPL",
                            reinterpret_cast<const bpf_insn*>(rest.data()),
                            code_bytes / sizeof(bpf_insn), &options);
  }
  Context context;
  std::optional<LoadedProgram> loaded;
  if (program >= 0) {
    bpf_test_run_opts run{};
    run.sz = sizeof(run);
    run.ctx_in = &context;  // the answer is written there, too
    run.ctx_size_in = sizeof(context);
    bool has_run = bpf_prog_test_run_opts(program, &run) == 0;
    if (has_run && static_cast<int>(run.retval) >= 0 && context.program > 0) {
      loaded.emplace();
      for (size_t i = 0; i < kLoadedMaps; ++i) loaded->maps[i] = context.maps[i].file;
      loaded->program = context.program;
    }
    close(program);
  }
  close(data);
  return loaded;
}

}  // namespace tidegauge::wss
