// The design of a published tracer of CUDA, rebuilt from its description to be measured beside
// ours: own code, their decisions. One record of 1,224 bytes with up to 128 frames for every
// launch; 128 bytes with 8 frames for an allocation, paired through a table of 1,024; each record
// wakes the reader.
// clang-format off
#include <linux/types.h>  // before libbpf's headers, which use it
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
// clang-format on

struct launch {
  __u32 pid, parent;
  char name[16];
  __u64 function;
  __u32 grid[3], block[3];
  __u64 stream;
  __u64 arguments[16];
  __u64 frames[128];
  __u64 frames_bytes;
};
_Static_assert(sizeof(struct launch) == 1224, "launch");
struct allocation {
  __u64 start_ns, end_ns, address, bytes;
  __u32 thread;
  __s32 code;
  __u32 type, reserved;
  __u64 caller, padding;
  __u64 frames[8];
};
_Static_assert(sizeof(struct allocation) == 128, "allocation");
struct call {
  __u64 start_ns, out, bytes;
};

#define RING(ring)                      \
  struct {                              \
    __uint(type, BPF_MAP_TYPE_RINGBUF); \
    __uint(max_entries, 64 << 20);      \
  } ring SEC(".maps")
RING(launches);
RING(allocations);
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, struct call);
} calls SEC(".maps");

SEC("uprobe")
int launch_enter(struct pt_regs* ctx) {
  struct launch* it = bpf_ringbuf_reserve(&launches, sizeof(*it), 0);
  if (!it) return 0;
  it->pid = bpf_get_current_pid_tgid() >> 32;
  bpf_get_current_comm(it->name, sizeof(it->name));
  it->function = PT_REGS_PARM1(ctx);
  it->grid[0] = PT_REGS_PARM2(ctx);
  it->grid[1] = PT_REGS_PARM2(ctx) >> 32;
  it->grid[2] = PT_REGS_PARM3(ctx);
  it->block[0] = PT_REGS_PARM4(ctx);
  it->block[1] = PT_REGS_PARM4(ctx) >> 32;
  it->block[2] = PT_REGS_PARM5(ctx);
  bpf_probe_read_user(&it->stream, 8, (void*)(PT_REGS_SP(ctx) + 16));
  it->frames_bytes = bpf_get_stack(ctx, it->frames, sizeof(it->frames), BPF_F_USER_STACK);
  bpf_ringbuf_submit(it, 0);
  return 0;
}

static __always_inline int enter(__u64 out, __u64 bytes) {
  __u32 thread = (__u32)bpf_get_current_pid_tgid();
  struct call call = {bpf_ktime_get_ns(), out, bytes};
  bpf_map_update_elem(&calls, &thread, &call, BPF_ANY);
  return 0;
}
static __always_inline int leave(struct pt_regs* ctx, __u32 type) {
  __u32 thread = (__u32)bpf_get_current_pid_tgid();
  struct call* call = bpf_map_lookup_elem(&calls, &thread);
  if (!call) return 0;
  struct allocation* it = bpf_ringbuf_reserve(&allocations, sizeof(*it), 0);
  if (!it) return 0;
  it->start_ns = call->start_ns;
  it->end_ns = bpf_ktime_get_ns();
  it->bytes = call->bytes;
  it->address = call->out;
  it->thread = thread;
  it->code = PT_REGS_RC(ctx);
  it->type = type;
  it->caller = PT_REGS_IP(ctx);
  if (type == 0) {
    bpf_probe_read_user(&it->address, 8, (void*)call->out);
    bpf_get_stack(ctx, it->frames, sizeof(it->frames), BPF_F_USER_STACK);
  }
  bpf_ringbuf_submit(it, 0);
  return 0;
}
SEC("uprobe")
int allocate_enter(struct pt_regs* ctx) { return enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx)); }
SEC("uprobe")
int free_enter(struct pt_regs* ctx) { return enter(PT_REGS_PARM1(ctx), 0); }
SEC("uretprobe")
int allocate_exit(struct pt_regs* ctx) { return leave(ctx, 0); }
SEC("uretprobe")
int free_exit(struct pt_regs* ctx) { return leave(ctx, 1); }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
