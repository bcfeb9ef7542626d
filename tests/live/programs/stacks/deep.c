// A chain of calls through a program and two libraries, built without frame pointers; each function
// keeps its frame in another way. deep.c is built three times: with -DPROGRAM, -DONE, -DTWO.
//
//   main → ask → one_plain → two_variable → one_aligned → two_saved → one_large → two_last
//   → cudaMalloc
//
// deep [thread | signal | recursion | callback]
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

#define DEEP(name) __attribute__((noinline)) int name(int n, void* memory)
DEEP(one_plain);
DEEP(one_aligned);
DEEP(one_large);
DEEP(two_variable);
DEEP(two_saved);
DEEP(two_last);
void keep(volatile void* memory, int n);

#ifdef ONE
void keep(volatile void* memory, int n) {
  if (n > 1000) *(volatile char*)memory = 0;
}
DEEP(one_plain) { return two_variable(n + 1, memory) + n; }
// The stack is aligned anew: the caller's is found through a saved copy of its address.
DEEP(one_aligned) {
  _Alignas(64) volatile char aligned[128];
  volatile char variable[n + 10];
  keep(aligned, n);
  keep(variable, n);
  return two_saved(n + 1, memory) + aligned[n & 1] * 0;
}
DEEP(one_large) {
  volatile char large[20000];
  keep(large, n);
  return two_last(n + 1, memory) + large[n & 1] * 0;
}
#endif
#ifdef TWO
// Variable length: only rbp shows where the frame begins.
DEEP(two_variable) {
  volatile char variable[n * 16 + 16];
  keep(variable, n);
  return one_aligned(n + 1, memory) + variable[0] * 0;
}
// rbp is one more register to keep things in.
DEEP(two_saved) {
  int a = n * 3, b = n ^ 5, c = n + 7, d = n * n, e = n - 9, f = n | 1;
  int got = one_large(n + 1, memory);
  keep(memory, a ^ b);
  return got + a + b * c + d * e + f;
}
DEEP(two_last) {
  int code = cudaMalloc(memory, 4096 + (size_t)n);
  keep(memory, n);
  return code ? 1000000 : n;
}
#endif
#ifdef PROGRAM
static void* given[4096];
static int next;
DEEP(ask) { return one_plain(n + 1, memory) + 1; }
DEEP(recurse) { return n > 0 ? recurse(n - 1, memory) + 1 : ask(1, memory) + 1; }
static void* work(void* unused) {
  (void)unused;
  ask(1, &given[next++]);
  return NULL;
}
static void handler(int number) {
  (void)number;
  ask(1, &given[next++]);
}
int main(int count, char** words) {
  const char* how = count > 1 ? words[1] : "";
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
  } else if (strcmp(how, "signal") == 0) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
  } else if (strcmp(how, "recursion") == 0) {
    recurse(atoi(words[2]), &given[next++]);
  } else {
    int times = count > 2 ? atoi(words[2]) : 1;
    for (int i = 0; i < times; ++i) ask(1, &given[next++]);
  }
  for (int i = 0; i < next; ++i) cudaFree(given[i]);
  return 0;
}
#endif
