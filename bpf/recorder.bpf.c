// All programs of the recorder in one object. The kernel requires a licence compatible with the
// GPL.
#include "common.bpf.h"
#include "contexts.bpf.h"
#include "copies.bpf.h"
#include "counted.bpf.h"
#include "framework.bpf.h"
#include "launches.bpf.h"
#include "memory.bpf.h"
#include "names.bpf.h"
#include "open_calls.bpf.h"
#include "processes/processes.bpf.h"
#include "unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
