// Makes of an object with BPF programs a program that loads it, so that a running Tidegauge has to
// read no ELF file and no type information of the kernel (some 15 ms each time):
//
//   make_bpf_loader OBJECT OUT PROGRAM MAP…
//   OUT:  bytes of instructions, bytes of data (32 bits each), instructions, data
//
// The kernel runs it, finds the fields by its own type information, and answers with descriptors:
// of the maps, in this order, and of the program. If the object is not suited (it has other maps,
// or values that libbpf would fill in), OUT is empty, and libbpf loads the object at run time.
// Source: libbpf, bpf_object__gen_loader(), which bpftool calls a light skeleton.
#include <bpf/libbpf.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> namesIn(bpf_object* object) {
  std::vector<std::string> names;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) names.emplace_back(bpf_program__name(program));
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) names.emplace_back(bpf_map__name(map));
  return names;
}

int keepQuiet(libbpf_print_level, const char*, va_list) { return 0; }

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "usage: make_bpf_loader OBJECT OUT PROGRAM MAP…\n");
    return 2;
  }
  std::ofstream out(words[2], std::ios::binary);
  libbpf_set_print(keepQuiet);
  bpf_object* object = bpf_object__open(words[1]);
  if (object == nullptr) {
    std::fprintf(stderr, "make_bpf_loader: %s cannot be opened\n", words[1]);
    return 1;
  }
  gen_loader_opts loader{};
  loader.sz = sizeof(loader);
  bool is_suited = namesIn(object) == std::vector<std::string>(words + 3, words + count) &&
                   bpf_object__gen_loader(object, &loader) == 0 && bpf_object__load(object) == 0;
  if (is_suited) {
    for (uint32_t size : {loader.insns_sz, loader.data_sz})
      out.write(reinterpret_cast<const char*>(&size), sizeof(size));
    out.write(loader.insns, loader.insns_sz);
    out.write(loader.data, loader.data_sz);
  }
  bpf_object__close(object);
  return out.flush() ? 0 : 1;
}
