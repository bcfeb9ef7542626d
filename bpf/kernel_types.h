// The few kernel structures that the programs read, written by hand: libbpf finds the real offset
// of each field in the running kernel's BTF when it loads them (CO-RE), so no generated vmlinux.h
// is needed, and it builds without BTF.
#pragma once

#define CORE __attribute__((preserve_access_index))

struct task_struct;
#define SIGNAL_GROUP_EXIT 4
struct signal_struct {
  struct {
    int counter;
  } live;
  unsigned int flags;
} CORE;
// What a return probe has saved: the original address at `stack`.
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
  unsigned long saved_auxv[40];
  struct file* exe_file;
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
struct super_block {
  unsigned int s_dev;
} CORE;
struct inode {
  unsigned long i_ino;
  struct super_block* i_sb;
  long long i_size;
  long long i_ctime_sec;  // Linux 6.11; before, see processes/hold.bpf.h
  unsigned int i_ctime_nsec;
} CORE;
struct file {
  struct path f_path;
  struct inode* f_inode;
} CORE;
struct vm_area_struct {
  struct file* vm_file;
} CORE;
