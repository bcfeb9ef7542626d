/* Reads the first PART MiB of FILE again and again, by read(): no page table shows it.

     reads FILE PART  →  "ready", once all of it was read */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** words) {
  static char page[1 << 16];
  if (count != 3) return 2;
  int file = open(words[1], O_RDONLY);
  if (file < 0) return perror(words[1]), 1;
  long parts = atol(words[2]) * 16;
  for (long rounds = 0;; ++rounds) {
    for (long i = 0; i < parts; ++i)
      if (pread(file, page, sizeof page, i * (long)sizeof page) != sizeof page)
        return perror("read"), 1;
    if (rounds == 0) puts("ready"), fflush(stdout);
    usleep(1000);
    if (getppid() == 1) return 0;
  }
}
