// What the kernel's helpers cost that a counted launch needs: each alone in a loop. helpers_floor.c
// loads it and prints the times.

// The second needs the types of the first.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

enum { kTimes = 2000 };

struct key {
  __u64 words[5];
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, struct key);
  __type(value, __u64);
} counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, __u64);
  __type(value, __u64);
} threads SEC(".maps");

__u64 took_ns[4];

#define MEASURE(number, body)                     \
  {                                               \
    __u64 begin = bpf_ktime_get_ns();             \
    for (int i = 0; i < kTimes; ++i) {            \
      body                                        \
    }                                             \
    took_ns[number] = bpf_ktime_get_ns() - begin; \
  }

SEC("raw_tp/sys_enter")
int run(struct bpf_raw_tracepoint_args* ctx) {
  const void* word = (const void*)ctx->args[0];
  __u64 read = 0, thread = 7;
  volatile __u64 sum = 0;
  struct key key = {.words = {42}};
  MEASURE(0, bpf_probe_read_user(&read, 8, word); sum += read;)
  MEASURE(1, __u64* calls = bpf_map_lookup_elem(&counts, &key);
          if (calls) __sync_fetch_and_add(calls, 1);)
  MEASURE(2, __u64* state = bpf_map_lookup_elem(&threads, &thread); if (state)* state += 1;)
  MEASURE(3, sum += bpf_get_current_pid_tgid();)
  return 0;
}

char kLicense[] SEC("license") = "GPL";
