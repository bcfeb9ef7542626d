// Loads each library that is named, and lets it take memory: see plugin.c.
#include <dlfcn.h>

#include "expect.h"

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 97;
    }
    int (*run)(unsigned long) = (int (*)(unsigned long))dlsym(library, "plugin_run");
    uint64_t bytes = 1000 * (uint64_t)i;
    if (run == NULL || run(bytes) != 0) return 96;
    took(DEVICE, bytes);
    took(DEVICE, 2 * bytes);
    gave(DEVICE, 2 * bytes);
  }
  return finish();
}
