// many N PROGRAM WORDS…: N processes of a program at once.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count < 3) return 96;
  int processes = atoi(words[1]), bad = 0, status = 0;
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    execv(words[2], words + 2);
    _exit(96);
  }
  while (wait(&status) > 0) bad |= status;
  return bad ? 97 : 0;
}
