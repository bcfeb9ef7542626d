// Lives of processes, and libraries that arrive late.
#pragma once

#include "../unwind.bpf.h"
#include "hold.bpf.h"

#define AUXILIARY_LOADER 7  // AT_BASE
#define AUXILIARY_ENTRIES 20

static __always_inline struct system_record* systemRecord(__u32 event, __u32 tgid) {
  struct system_record* record = bpf_ringbuf_reserve(&system_ring, sizeof(*record), 0);
  if (!record) {
    count(LOSS_SYSTEM_RING);
    return 0;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->time_ns = bpf_ktime_get_ns();
  bool is_outside =
      settings.watched_cgroup &&
      bpf_get_current_ancestor_cgroup_id(settings.watched_cgroup_level) != settings.watched_cgroup;
  record->cgroup = is_outside ? 0 : bpf_get_current_cgroup_id();
  record->event = event;
  record->tgid = tgid;
  return record;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct* parent, struct task_struct* child) {
  __u32 from = parent->tgid, to = child->tgid;
  if (from == to || !settings.follow_children) return 0;  // a thread
  __u32* flags = bpf_map_lookup_elem(&targets, &from);
  if (!flags) return 0;
  __u32 copy = *flags;
  if (bpf_map_update_elem(&targets, &to, &copy, BPF_ANY)) {
    count(LOSS_THREAD);  // its calls will not be recorded
    return 0;
  }
  sharedSpace(from, to);
  struct system_record* record = systemRecord(SYSTEM_FORK, to);
  if (!record) return 0;
  record->parent = from;
  bpf_probe_read_kernel_str(record->text, 16, parent->comm);
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return 0;
}

// Whether a program that begins may make calls before anything can hold it: it has no loader, and
// may have watched functions, or its loader has no probe.
static __noinline bool mustStop(struct task_struct* task) {
  struct hold_walk walk = {.epoch = holdEpoch()};
  unsigned long entry[2] = {};
  for (int i = 0; i < AUXILIARY_ENTRIES; ++i) {
    bpf_probe_read_kernel(entry, sizeof(entry), &task->mm->saved_auxv[2 * i]);
    if (!entry[0] || entry[0] == AUXILIARY_LOADER) break;
  }
  if (entry[0] == AUXILIARY_LOADER && entry[1]) {
    seeAddress(&walk, entry[1]);
    return !walk.loader;
  }
  struct file* program = BPF_CORE_READ(task, mm, exe_file);
  if (program) seeFile(&walk, program);
  // A loader that was started itself holds the program that it loads.
  return !walk.loader && (walk.unknown || walk.watched);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct* task, __s32 old_pid) {
  __u32 tgid = task->tgid;
  __u64 thread_id = ((__u64)tgid << 32) | (__u32)task->pid;
  bpf_map_delete_elem(&threads, &thread_id);         // its device belonged to the previous program
  thread_id = ((__u64)tgid << 32) | (__u32)old_pid;  // a thread takes the first one's number
  bpf_map_delete_elem(&threads, &thread_id);
  bpf_map_delete_elem(&seen, &tgid);  // another program
  bpf_map_delete_elem(&spaces, &tgid);
  bpf_map_delete_elem(&pythons, &tgid);
  __u32* flags = bpf_map_lookup_elem(&targets, &tgid);
  if (!settings.watch_all && !flags) return 0;
  struct system_record* record = systemRecord(SYSTEM_EXEC, tgid);
  if (!record) return 0;
  // Before its first instruction: a program without a dynamic loader never reports that it is
  // ready.
  if (flags && (*flags & TARGET_MAY_STOP)) {
    if (!mustStop(task))
      record->stopped = STOPPED_LATER;
    else if (mayHold() && !bpf_send_signal(19))  // SIGSTOP
      record->stopped = STOPPED_BY_SIGNAL;
  }
  record->parent = BPF_CORE_READ(task, real_parent, tgid);
  bpf_probe_read_kernel_str(record->text, 16, task->comm);
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return 0;
}

// Runs for every thread; `live` counts those that have not exited yet, without this one.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct* task) {
  __u32 tgid = task->tgid;
  __u64 thread_id = ((__u64)tgid << 32) | (__u32)task->pid;
  bpf_map_delete_elem(&threads, &thread_id);
  bool is_last = task->signal->live.counter == 0;
  // If the recorder is killed while one of its threads takes probes back, that thread waits for the
  // programs that are held, and ends after them.
  bool is_killed = task->signal->flags & SIGNAL_GROUP_EXIT;
  if (tgid == settings.recorder_tgid && (is_last || is_killed)) openAllGates();
  if (!is_last) return 0;
  bpf_map_delete_elem(&spaces, &tgid);
  bpf_map_delete_elem(&pythons, &tgid);
  bool known = bpf_map_delete_elem(&seen, &tgid) == 0;
  known |= bpf_map_delete_elem(&targets, &tgid) == 0;
  if (!known) return 0;
  struct system_record* record = systemRecord(SYSTEM_EXIT, tgid);
  if (!record) return 0;
  record->code = task->exit_code;
  bpf_probe_read_kernel_str(record->text, 16, task->comm);
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return 0;
}

// False: the ring has no room.
static __noinline bool reportLibraries(__u32 ticket, __u32 files, bool is_own) {
  struct system_record* record = systemRecord(SYSTEM_LIBRARIES, tgidNow());
  if (!record) return false;
  record->code = (__s32)ticket;
  bpf_get_current_comm(record->text, 16);
  if (ticket)
    record->stopped = STOPPED_AT_GATE;
  else if (is_own && files & FILES_UNKNOWN && mayHold() && !bpf_send_signal(19))  // SIGSTOP
    record->stopped = STOPPED_BY_SIGNAL;
  else if (files & FILES_CUDA)
    record->stopped = NOT_HELD;
  bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
  return true;
}

// The dynamic loader calls _dl_debug_state() after it mapped libraries and before it runs their
// constructors: debuggers wait there too. A process waits there until the new libraries are
// watched, one that the recorder did not start only for a moment. Cookie: the place of _r_debug,
// relative to the function.
SEC("uprobe.s")
int libraries_changed(struct pt_regs* ctx) {
  __u32 tgid = tgidNow();
  if (tgid == settings.recorder_tgid) return 0;
  __u32* flags = bpf_map_lookup_elem(&targets, &tgid);
  if (!flags && !settings.watch_all) return 0;
  bool is_own = flags && (*flags & TARGET_MAY_STOP);
  __u32 state = 1;
  __u64 debug = PT_REGS_IP(ctx) + bpf_get_attach_cookie(ctx);
  bpf_probe_read_user(&state, 4, (const void*)(debug + 24));
  // RT_DELETE: the addresses of an unloaded library may get other code.
  if (state == 2) bpf_map_delete_elem(&spaces, &tgid);
  if (state != 0) return 0;  // RT_ADD, RT_DELETE: about to change
  __u32 files = filesOf(debug, 0);
  __u32 room = files & FILES_UNKNOWN ? ROOM_FOR_PROBES : ROOM_FOR_MAPPINGS;
  __u32 ticket = files ? takeRoom(room) : 0;
  if (!reportLibraries(ticket, files, is_own)) {
    if (ticket) leaveRoom(ticket, room);
    return 0;
  }
  if (!ticket) return 0;
  __u64 most_ns = is_own ? OWN_WAIT_NS : OTHERS_WAIT_NS;
  __u32 gate = waitAtGate(PT_REGS_SP(ctx), most_ns, room, ticket);
  if (gate != GATE_OPEN && gate != GATE_OPEN_WATCHED) return 0;
  filesOf(debug, gate == GATE_OPEN ? FILE_PLAIN : FILE_WATCHED);
  markLoader(PT_REGS_IP(ctx));
  return 0;
}
