// Maps one memory several times, as collectors with coloured pointers do, in two processes, and
// touches a part of it through each mapping, again and again:
//
//   repeats MAPPINGS MIB TOUCHED_MIB      prints "ready"; until it is ended
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMost = 8 };

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  int mappings = atoi(argv[1]);
  size_t there = (size_t)atoi(argv[2]) << 20, touched = (size_t)atoi(argv[3]) << 20;
  int file = memfd_create("heap", 0);
  if (mappings > kMost || ftruncate(file, (off_t)there) != 0) return 1;
  volatile char* at[kMost];
  for (int i = 0; i < mappings; ++i) {
    at[i] = mmap(0, there, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset((void*)at[i], 1, there);
  }
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, 9);
    for (int i = 0; i < mappings; ++i) memset((void*)at[i], 1, there);
  } else {
    sleep(1);  // until the child is there
    puts("ready");
    fflush(stdout);
  }
  for (;;)
    for (int i = 0; i < mappings; ++i)
      for (size_t page = 0; page < touched; page += 4096) ++at[i][page];
}
