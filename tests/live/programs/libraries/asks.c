// A program for machines with and without a GPU asks whether there is a driver: here there is none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int main(void) {
  if (dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL || dlerror() == NULL) return 1;
  if (dlsym(RTLD_NEXT, "cudaMalloc") != NULL) return 2;
  return dlsym(RTLD_DEFAULT, "malloc") == NULL;
}
