// The few kernel structures that the programs look into, by hand: libbpf finds each field's true
// place in the running kernel's BTF when it loads them (CO-RE), so no generated vmlinux.h is needed
// and it builds where there is no BTF.
#pragma once

#define CORE __attribute__((preserve_access_index))

struct task_struct;
struct signal_struct {
  struct {
    int counter;
  } live;
} CORE;
// What a return probe has put aside: the address that was at `stack` before.
struct return_instance {
  unsigned long stack;
  unsigned long orig_ret_vaddr;
  struct return_instance* next;
} CORE;
struct uprobe_task {
  struct return_instance* return_instances;
} CORE;
struct mm_struct {
  unsigned long start_stack;
} CORE;
struct thread_struct {
  unsigned long fsbase;
} CORE;
struct task_struct {
  int pid;
  int tgid;
  int exit_code;
  char comm[16];
  struct task_struct* real_parent;
  struct signal_struct* signal;
  struct uprobe_task* utask;
  struct mm_struct* mm;
  struct thread_struct thread;
} CORE;
struct qstr {
  const unsigned char* name;
} CORE;
struct dentry {
  struct qstr d_name;
} CORE;
struct path {
  struct dentry* dentry;
} CORE;
struct file {
  struct path f_path;
} CORE;
