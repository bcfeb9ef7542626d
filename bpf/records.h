// The interface between the BPF programs and the recorder: layouts, numbers, map keys.
//
//   program ──memory_ring (80 bytes per call, wakes nothing)──► recorder, drained every 5 ms
//           ──system_ring (processes, libraries; wakes it)────►
//           ──copies, launches (summed in the kernel)─────────► taken every second, or when full
//           ──losses (one counter per reason and processor)──►
//
// Both sides include this file: no pointers, only fixed-size types, every struct without holes.
#pragma once

#ifdef __cplusplus
#include <linux/types.h>
#define TIDEGAUGE_CHECK_SIZE(type, bytes) static_assert(sizeof(struct type) == bytes)
#else
#define TIDEGAUGE_CHECK_SIZE(type, bytes) _Static_assert(sizeof(struct type) == bytes, #type)
#endif

// One call that moved memory, written at its return.
struct memory_record {
  __u64 start_ns;    // CLOCK_MONOTONIC
  __u64 end_ns;      //
  __u64 address;     // the result, or the address to free
  __u64 size_bytes;  // as requested; for a pitched allocation pitch × height
  __u64 handle;      // of cuMemCreate, pools, arrays, contexts
  __u64 stream;      // from the program; c10's stream id from the framework's probes
  __u64 offset;      // cuMemMap: into the handle
  __u32 tgid;
  __u32 tid;
  __s32 device;  // enum device_of_thread
  __s32 code;    // what the call returned; 0 = success
  __u16 function;
  __u8 inner;   // a runtime call: number of driver records written inside it, at most 255
  __u8 flags;   // enum memory_flag
  __s32 stack;  // stack_record::id; < 0: none
};
TIDEGAUGE_CHECK_SIZE(memory_record, 80);

// How to get from a frame to its caller, at one place in the code: the rule of .eh_frame there, in
// the few forms that compilers use. The return address is always at CFA − 8. See unwind.bpf.h.
enum unwind_cfa {
  UNWIND_END,     // no caller: _start, clone
  UNWIND_CUT,     // the caller cannot be found
  UNWIND_SP,      // CFA = rsp + cfa_offset
  UNWIND_BP,      // CFA = rbp + cfa_offset
  UNWIND_AT_SP,   // CFA = *(rsp + cfa_offset) + cfa_more
  UNWIND_AT_BP,   // CFA = *(rbp + cfa_offset) + cfa_more: a realigned stack
  UNWIND_SIGNAL,  // the kernel's frame: all registers are above rsp
};
enum unwind_bp {
  UNWIND_BP_SAME,     // rbp still has the caller's value
  UNWIND_BP_AT_CFA,   // it was saved at CFA + bp_offset
  UNWIND_BP_AT_BP,    // it was saved at rbp + bp_offset
  UNWIND_BP_GUESSED,  // like UNWIND_BP_AT_CFA, and the whole rule is a guess: rbp as frame pointer
};
struct unwind_rule {
  __s32 cfa_offset;
  __s32 bp_offset;
  __s16 cfa_more;
  __u8 cfa;  // enum unwind_cfa
  __u8 bp;   // enum unwind_bp
};
TIDEGAUGE_CHECK_SIZE(unwind_rule, 12);
// A place is a return address; for the current instruction (not a return address) the address + 1,
// so that the instruction before it always counts.
struct unwind_key {
  __u64 place;
  __u32 code;  // unwind_space::code
  __u32 reserved;
};
TIDEGAUGE_CHECK_SIZE(unwind_key, 16);
// Numbers that are never reused.
struct unwind_space {
  __u32 code;     // of a set of mappings: a fork shares it, exec and dlclose make a new one
  __u32 process;  // of one process with these mappings
};
TIDEGAUGE_CHECK_SIZE(unwind_space, 8);

// A stack that was not sent before, innermost frame first. Sent once; after that, only its id.
#define STACK_FRAMES 256
struct stack_record {
  __u64 hash;  // 0: sent in this record only
  __u64 sp;    // without a rule for frame[frames - 1]: the registers there
  __u64 bp;
  __u32 id;  // 0: only the rules are needed, and only what they need is copied
  __u32 tgid;
  __u32 code;  // unwind_space::code
  __u16 frames;
  __u16 end;           // enum stack_end
  __u32 room;          // number of frames that fit; the copy begins after them
  __u32 copied_bytes;  // of the stack from sp on
  __u32 copied_pages;  // of these: bit 0 is sp's page; a page that was never written is missing
  __u32 python;        // PYTHON_SENT before it, PYTHON_LOST; 0: there are none
  __u64 frame[STACK_FRAMES];  // places: see unwind_key
};
TIDEGAUGE_CHECK_SIZE(stack_record, 2104);
// With the copy: the rest of the stack, in one of these sizes. The smallest is for threads that do
// next to nothing (2 KiB of it are the C library's), with room for few frames: ten thousand calls
// from new places fit into the ring, however long the recorder waits for a processor.
#define STACK_COPY_LEAST 2560
#define STACK_FRAMES_FEW 16
#define STACK_COPY_TINY 8192
#define STACK_COPY_SMALL 16384
#define STACK_COPY_LARGE 65536
enum stack_end {
  STACK_WHOLE,    // up to the outermost frame
  STACK_CUT,      // UNWIND_CUT, or unreadable memory
  STACK_DEEP,     // STACK_FRAMES and more
  STACK_UNKNOWN,  // a place without a rule: the recorder finds it
};

enum device_of_thread {
  DEVICE_NEVER_SET = -1,  // the thread chose none: the runtime uses device 0
  DEVICE_UNKNOWN = -2,    // a context from before the recording
};
enum memory_flag {
  FLAG_IN_RUNTIME = 1,  // a driver call made by the runtime: its stack is that of the runtime call
  FLAG_READ_FAULT = 2,  // the result could not be read: address or handle is 0
};

enum system_event {
  SYSTEM_FIRST_SEEN = 1,  // of a process, by any probe
  SYSTEM_FORK,
  SYSTEM_EXEC,
  SYSTEM_EXIT,
  SYSTEM_LIBRARIES,  // its loader mapped or unmapped some
};
enum target_flag {
  TARGET_WATCHED = 1,
  TARGET_MAY_STOP = 2,  // started by the recorder: may be stopped until a library is watched
};
struct system_record {
  __u64 time_ns;
  __u64 cgroup;  // 0: outside the one that is watched
  __u32 event;
  __u32 tgid;
  __u32 parent;
  __s32 code;    // SYSTEM_EXIT: the status of wait(); SYSTEM_LIBRARIES: the ticket of its gate
  __u8 stopped;  // SYSTEM_LIBRARIES, SYSTEM_EXEC: enum stopped
  __u8 reserved[3];
  __u32 program;  // SYSTEM_FIRST_SEEN: its number; see launch_key
  char text[64];  // name of the process
};
TIDEGAUGE_CHECK_SIZE(system_record, 104);

// The name of a kernel: __cudaRegisterFunction, cuModuleGetFunction, cuLibraryGetKernel.
struct name_record {
  __u64 handle;    // CUfunction, CUkernel or the host's stub
  __u64 of;        // cuKernelGetFunction: the kernel it is made from; then name is empty
  __u32 program;   // see launch_key
  __u32 length;    // 0: no name or an empty one
  char name[240];  // ends with a 0
};
TIDEGAUGE_CHECK_SIZE(name_record, 264);

// Every launch, if requested.
struct launch_record {
  __u64 time_ns;
  __u64 kernel;
  __u64 stream;
  __u32 tgid;
  __u32 tid;
  __u32 grid[3];
  __u32 block[3];
  __u32 shared_bytes;
  __s32 device;
  __s32 stack;
  __u16 function;
  __u16 arguments;  // number of valid words in `argument`; with `whole`, of parameters
  __u64 argument[16];
  __u32 whole;        // 1: the parameters follow the record, one after the other
  __u32 whole_bytes;  // …
};
TIDEGAUGE_CHECK_SIZE(launch_record, 208);

// The sizes of a kernel's parameters, which the recorder has found in its code.
#define WHOLE_PARAMETERS 64
#define WHOLE_BYTES 4096  // of one launch
#define WHOLE_BYTES_FEW 256
struct parameter_key {
  __u64 kernel;
  __u32 program;  // see launch_key
  __u32 reserved;
};
TIDEGAUGE_CHECK_SIZE(parameter_key, 16);
struct parameter_sizes {
  __u16 count;
  __u16 size[WHOLE_PARAMETERS];
};
TIDEGAUGE_CHECK_SIZE(parameter_sizes, 130);

// The name of a kernel that found no room in its ring: the recorder reads it from the program.
#define MISSED_NAMES 131072
struct missed_name_key {
  __u64 handle;
  __u32 program;
  __u32 tgid;
};
TIDEGAUGE_CHECK_SIZE(missed_name_key, 16);
struct missed_name {
  __u64 text;  // where it lies
  __u64 of;    // as in name_record
};
TIDEGAUGE_CHECK_SIZE(missed_name, 16);

// `program` is the number of one run of one program, reported with SYSTEM_FIRST_SEEN and never
// reused: counts belong to it even if its process runs another program when they are read.
struct launch_key {
  __u64 kernel;
  __u32 program;
  __u32 grid[3];
  __u32 block[3];
  __u16 function;
  __u16 reserved;
};
TIDEGAUGE_CHECK_SIZE(launch_key, 40);
// Launches whose geometry found no room, still counted.
struct beyond_key {
  __u32 program;
  __u16 function;
  __u16 reserved;
};
TIDEGAUGE_CHECK_SIZE(beyond_key, 8);

// What a call that manages contexts does, as in the cookie of its function. model::Verb is the
// engine's own list; src/record/decode.cpp checks that both agree.
enum verb {
  VERB_RETAIN = 4,
  VERB_CREATE,
  VERB_DESTROY,
  VERB_RELEASE,
  VERB_RESET,
  VERB_SET = 10,
  VERB_PUSH,
  VERB_POP,
};

enum copy_direction {
  COPY_HOST_TO_HOST,  // 0 … 4 as cudaMemcpyKind
  COPY_HOST_TO_DEVICE,
  COPY_DEVICE_TO_HOST,
  COPY_DEVICE_TO_DEVICE,
  COPY_UNKNOWN,  // decided by the pointers: the driver checks them
  COPY_PEER,
  COPY_SET,
  COPY_DIRECTIONS,
};
struct copy_key {
  __u32 program;  // see launch_key
  __u8 direction;
  __u8 submitted;  // the call returns before the copy is complete: its time is not a transfer time
  __u16 function;
};
TIDEGAUGE_CHECK_SIZE(copy_key, 8);
struct copy_sum {
  __u64 calls;
  __u64 bytes;
  __u64 time_ns;  // in the calls, of the host
  __u64 failures;
};
TIDEGAUGE_CHECK_SIZE(copy_sum, 32);

enum loss {
  LOSS_MEMORY_RING,   // a memory record found no room
  LOSS_SYSTEM_RING,   //
  LOSS_NAME_RING,     // and the program had gone before its names were read
  LOSS_LAUNCH_RING,   //
  LOSS_STACK,         // no stack: it found no room in its ring
  LOSS_UNPAIRED,      // a return without its entry
  LOSS_IN_FLIGHT,     // an entry found no room
  LOSS_THREAD,        // no room for the state of a thread or process: its calls are not recorded
  LOSS_READ_FAULT,    // memory of the program could not be read
  LOSS_LAUNCH_TABLE,  // a launch found no room in the table: its geometry is lost
  LOSS_COPY_TABLE,    //
  LOSS_KINDS,
  // Not losses, but counted in the same array:
  COUNT_NESTED = LOSS_KINDS,  // calls inside a call that has its own record
  COUNT_MEMORY_RECORDS,
  COUNT_KINDS,
};

// Rows of the tables that are summed in the kernel; pairs are switched when they are taken.
#define LAUNCH_ROWS 262144
#define COPY_ROWS 16384
enum counted { COUNTED_LAUNCHES, COUNTED_COPIES, COUNTED_KINDS };

// Set before the programs are loaded: the verifier removes disabled code.
struct recorder_settings {
  __u64 watched_cgroup;  // only processes inside this cgroup (v2); 0: any
  __u32 watched_cgroup_level;
  __u32 recorder_tgid;     // never watched
  __u32 launch_arguments;  // words, at most 16
  __u16 function_pytorch_malloc;
  __u16 function_pytorch_free;
  __u8 watch_all;  // every process, not only those in map `targets`
  __u8 take_stacks;
  __u8 take_block_stacks;
  __u8 follow_children;
  __u8 launch_events;
  __u8 whole_arguments;  // of kernels in parameters_of
  __u8 reserved[2];
};
TIDEGAUGE_CHECK_SIZE(recorder_settings, 32);

// Where a function's arguments are: the cookie of its probes. A place is 0 for "none", 1 … 6 for a
// register, 7 … 15 for the 1st … 9th word above the return address.
//   bits 0-15 function, then four bits each: out, address, bytes, times, handle, stream, shape
#define COOKIE_PLACE(cookie, shift) (((cookie) >> (shift)) & 15)
enum cookie_shift {
  COOKIE_OUT = 16,      // pointer to the result, read on success
  COOKIE_ADDRESS = 20,  // an address argument
  COOKIE_BYTES = 24,
  COOKIE_TIMES = 28,   // a second factor of the bytes
  COOKIE_HANDLE = 32,  // a handle, pool, context or device argument
  COOKIE_STREAM = 36,
  COOKIE_SHAPE = 40,
  COOKIE_RUNTIME = 44,  // 1: a function of the runtime
  COOKIE_VERB = 48,     // of contexts: model::Verb
  // Copies: the kind's argument is in COOKIE_HANDLE.
  COOKIE_DIRECTION = 48,
  COOKIE_SUBMITTED = 52,
  COOKIE_ELEMENT = 56,  // bytes of one element
};
enum launch_shape {
  LAUNCH_SIX_WORDS,  // f, gx, gy, gz, bx, by │ bz, shared, stream, params
  LAUNCH_CONFIG,     // {grid, block, shared, stream}*, f
  LAUNCH_DIM3,       // stub, gx|gy<<32, gz, bx|by<<32, bz, args │ shared, stream
  LAUNCH_GRAPH,      // exec, stream
};
enum shape {
  SHAPE_PLAIN,
  SHAPE_HANDLE_OUT,   // the result is a handle
  SHAPE_PITCH,        // argument 2 points to the pitch; bytes = pitch × TIMES
  SHAPE_PITCHED_PTR,  // cudaMalloc3D: the result is {ptr, pitch, …}, the extent is on the stack
  SHAPE_CREATE,       // cuMemCreate: device in the properties (argument 3)
  SHAPE_ARRAY,        // argument 2 points to CUDA_ARRAY_DESCRIPTOR
  SHAPE_ARRAY_3D,     // argument 2 points to CUDA_ARRAY3D_DESCRIPTOR; levels in TIMES
  SHAPE_GRAPH_NODE,   // ADDRESS points to CUDA_MEM_ALLOC_NODE_PARAMS
  SHAPE_MAP,          // cuMemMap: OFFSET in TIMES
  SHAPE_POOL_CREATE,  // the result is a pool; device in the properties (argument 2)
  SHAPE_POOL_OF,      // the result is a pool; its device is the HANDLE argument
  SHAPE_POOL_AT,      // the result is a pool; ADDRESS points to its location {type, id}
  SHAPE_MEM_INFO,     // free bytes become the address; ADDRESS points to all bytes, the size
};
