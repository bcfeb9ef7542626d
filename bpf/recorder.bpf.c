// All programs of the recorder, one object. License: the kernel asks for a GPL-compatible one.
#include "common.bpf.h"
#include "memory.bpf.h"
#include "processes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
