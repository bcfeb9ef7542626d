// Runs helpers_floor.bpf.c 300 times and prints the least time of each helper. Needs root.
//
//   clang -O2 -g -target bpf -I/usr/include/x86_64-linux-gnu -c helpers_floor.bpf.c
//   gcc -O2 helpers_floor.c -o helpers_floor -lbpf && sudo ./helpers_floor
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  struct bpf_object* object = bpf_object__open("helpers_floor.bpf.o");
  if (!object || bpf_object__load(object)) return 1;
  uint64_t word = 5, key[5] = {42}, thread = 7, zero = 0, least[4];
  uint64_t arguments[6] = {(uint64_t)(uintptr_t)&word};
  int results = bpf_object__find_map_fd_by_name(object, ".bss"), program;
  program = bpf_program__fd(bpf_object__find_program_by_name(object, "run"));
  bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "counts"), key, &zero, 0);
  bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "threads"), &thread, &zero, 0);
  memset(least, 0xff, sizeof(least));
  for (int run = 0; run < 300; ++run) {
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
    uint32_t first = 0;
    uint64_t took[4];
    if (bpf_prog_test_run_opts(program, &options)) return 1;
    if (bpf_map_lookup_elem(results, &first, took)) return 1;
    for (int i = 0; i < 4; ++i) least[i] = took[i] < least[i] ? took[i] : least[i];
  }
  const char* names[] = {"a word of the program's memory", "a key of 40 bytes, counted",
                         "a key of 8 bytes", "the number of the thread"};
  for (int i = 0; i < 4; ++i) printf("%-32s %5.1f ns\n", names[i], (double)least[i] / 2000);
  return 0;
}
