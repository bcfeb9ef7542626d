// wss_pl_calls PID SECONDS [STEPS]: the system calls of wss.pl (2018), without its text processing:
// clear_refs 1, sleep, read smaps line by line, add Rss, Pss and Referenced; like `wss.pl -P STEPS`
// that is repeated STEPS times, each sleep twice the one before. Prints the touched bytes at the
// end, its processor time and the time to clear, in ms.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double ms(struct timeval t) { return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3; }

int main(int count, char** words) {
  if (count != 3 && count != 4) return 2;
  char path[64], line[8192];
  snprintf(path, sizeof(path), "/proc/%s/clear_refs", words[1]);
  FILE* file = fopen(path, "w");
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  if (!file || fputs("1", file) < 0 || fclose(file)) return perror(path), 1;
  clock_gettime(CLOCK_MONOTONIC, &b);
  snprintf(path, sizeof(path), "/proc/%s/smaps", words[1]);
  unsigned long rss, pss, referenced = 0;
  double sleep_s = atof(words[2]);
  for (int step = 0, steps = count == 4 ? atoi(words[3]) : 1; step < steps; ++step) {
    usleep((useconds_t)(sleep_s * 1e6));
    if (step > 0) sleep_s *= 2;
    if (!(file = fopen(path, "r"))) return perror(path), 1;
    rss = pss = referenced = 0;
    while (fgets(line, sizeof(line), file)) {
      if (!strncmp(line, "Rss:", 4)) rss += strtoul(line + 4, NULL, 10);
      if (!strncmp(line, "Pss:", 4)) pss += strtoul(line + 4, NULL, 10);
      if (!strncmp(line, "Referenced:", 11)) referenced += strtoul(line + 11, NULL, 10);
    }
    fclose(file);
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("{\"referenced\": %lu, \"cpu_ms\": %.3f, \"stall_ms\": %.3f}\n", referenced * 1024,
         ms(used.ru_utime) + ms(used.ru_stime),
         (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
}
