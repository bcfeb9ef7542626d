// The driver loads the library that CUDA_INJECTION64_PATH names, at its first cuInit(), and calls
// its InitializeInjection(). Not in the static driver, where nothing can be loaded.
#include <dlfcn.h>

#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) void standinInject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  if (auto begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) begin();
}
