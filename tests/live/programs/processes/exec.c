// A program that holds memory when it becomes another one: the first one's memory is gone.
#include "expect.h"

int main(int count, char** words) {
  void* p;
  size_t bytes = count > 1 ? 222 : 111111;
  must(cudaMalloc(&p, bytes), 0), took(DEVICE, bytes);
  if (finish() != 0) return 98;
  if (count > 1) return 0;
  execl(words[0], words[0], "again", NULL);
  return 96;
}
