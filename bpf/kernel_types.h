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
struct task_struct {
  int pid;
  int tgid;
  int exit_code;
  char comm[16];
  struct task_struct* real_parent;
  struct signal_struct* signal;
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
