"""children.py HOW X Y: a parent of programs X and Y that prints what it learns of them, in order."""
import multiprocessing
import os
import subprocess
import sys


def run(path):
    return subprocess.run([path, "1"], check=False, stdout=subprocess.DEVNULL).returncode


def stops(path):
    """What waitpid() reports of a child, with the stops of its children."""
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(path, [path, "1"])
    seen = []
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            seen.append("stopped")
            os.kill(pid, 18)  # SIGCONT
            continue
        return [*seen, os.waitstatus_to_exitcode(status)]


def main():
    how, *paths = sys.argv[1:]
    if how == "subprocess":
        print([run(path) for path in paths])
        print(subprocess.run(["sh", "-c", f"{paths[0]} 1 >/dev/null; exit 3"], check=False).returncode)
    elif how == "multiprocessing":
        for method in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(3) as pool:
                print(method, pool.map(run, paths * 3))
    elif how == "ranks":
        children = [subprocess.Popen([paths[rank % 2], "1"], env={**os.environ, "RANK": str(rank)},
                                     stdout=subprocess.DEVNULL, start_new_session=True) for rank in range(6)]
        print([child.wait() for child in children])
    else:
        print([stops(path) for path in paths * 2])


if __name__ == "__main__":
    main()
