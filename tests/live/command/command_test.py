#!/usr/bin/env python3
"""`record --` before a command changes neither what it prints nor in which order nor its exit code: the
commands of the table in docs/record/recorder.md, each once alone and once recorded. Most have a parent that
asks the kernel for children that stop (su, sudo, script, shells with job control, launchers)."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 300
PYTHON = sys.executable


def words(text):
    """{words of bash}: `X` is a program that uses the GPU; `Y` another one, new to the recorder."""
    return ["bash", "-c", text]


# Open MPI refuses root without this option, and more ranks than processors without the other.
MPIRUN = "mpirun --oversubscribe" + (" --allow-run-as-root" if os.geteuid() == 0 else "")

# Name: command. X, Y: copies of a program that uses the GPU. They are new files for each
# run, so that the recorder has seen none of them before.
COMMANDS = {
    "a program": ["X"],
    "a program that fails": words("X; exit 7"),
    "a program that a signal ends": words("X; kill -9 $$"),
    "su": ["su", "-s", "/bin/bash", "nobody", "-c", "X; id -u; Y"],
    "sudo": ["sudo", "-n", "-u", "nobody", "bash", "-c", "X; id -u"],
    "script": ["script", "-qec", "X; Y; tty >/dev/null && echo tty", "/dev/null"],
    "bash, job control": words("set -m; X & wait; jobs; Y & wait $!; echo $?"),
    "bash, job in the foreground": words("set -m; Y | sort; X | sort; echo ${PIPESTATUS[@]}"),
    "zsh, job control": ["zsh", "-fc", "setopt monitor; X & wait; jobs; Y & wait $!; echo $?"],
    "dash, job control": ["dash", "-c", "set -m; X & wait; jobs; Y; echo $?"],
    "a pipeline": words("(X; echo 3; Y; echo 1) | sort | uniq -c"),
    "make -j": ["make", "-s", "-j4", "-f", str(HERE / "jobs.make"), "PROGRAM=X", "OTHER=Y"],
    "timeout": ["timeout", "30", "X"],
    "timeout that is over": ["timeout", "4", "bash", "-c", "X; sleep 30"],
    "xargs -P": words("seq 8 | xargs -P4 -I{} X; echo $?"),
    "GNU parallel": ["parallel", "--will-cite", "-k", "-j3", "X ;", "echo", ":::", "1", "2", "3", "4", "5"],
    # Sorted: mpirun itself orders the lines of its ranks as they come.
    "mpirun": words(f"{MPIRUN} -n 3 bash -c 'X && echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE' | sort; "
                    "echo ${PIPESTATUS[0]}"),
    "mpirun of a rank that fails": words(f"{MPIRUN} -q -n 2 bash -c 'X >/dev/null; exit $((OMPI_COMM_WORLD_RANK * 7))'"),
    "nohup, nice, env, setsid": ["nohup", "nice", "env", "A=1", "setsid", "-w", "X"],
    "subprocess of Python": [PYTHON, str(HERE / "children.py"), "subprocess", "X", "Y"],
    "multiprocessing of Python": [PYTHON, str(HERE / "children.py"), "multiprocessing", "X", "Y"],
    "a launcher of ranks": [PYTHON, str(HERE / "children.py"), "ranks", "X", "Y"],
    "a parent that asks for stops": [PYTHON, str(HERE / "children.py"), "stops", "X", "Y"],
}
# Name: (program, package of Debian that has it).
NEEDS = {"sudo": ("sudo", "sudo"), "zsh, job control": ("zsh", "zsh"), "dash, job control": ("dash", "dash"),
         "script": ("script", "bsdutils"), "make -j": ("make", "make"), "GNU parallel": ("parallel", "parallel"),
         "mpirun": ("mpirun", "openmpi-bin"), "mpirun of a rank that fails": ("mpirun", "openmpi-bin")}


def plain(text):
    """Without the numbers of processes."""
    return re.sub(r"\b\d{3,}\b", "N", text)


class Command(live.LiveTest):
    def run_it(self, command, before=()):
        """Output and exit code of a command, after `before`."""
        folder = self.folder()
        os.chmod(folder, 0o777)
        names = {}
        for name in "XY":
            names[name] = folder / f"program_{name}"
            shutil.copy(live.program("says"), names[name])
        command = [re.sub(r"\b[XY]\b", lambda m: f"{names[m[0]]} 1", word) if word not in names else str(names[word])
                   for word in command]
        before = [str(folder / "run.sqlite") if word == "FILE" else word for word in before]
        done = subprocess.run([*before, *command], env=self.environment(folder, HOME=str(folder)), cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, plain(done.stdout.replace(str(folder), "FOLDER")), done.stderr


    def test_nothing_changes(self):
        record = [str(live.BINARY), "record", "--no-summary", "-o", "FILE", "--"]
        for name, command in COMMANDS.items():
            with self.subTest(name):
                program, package = NEEDS.get(name, ("sh", "dash"))
                if not shutil.which(program):
                    self.skipTest(f"there is no {program}: apt-get install {package}")
                code, output, _ = self.run_it(command)
                seen_code, seen, err = self.run_it(command, record)
                self.assertEqual(seen, output, err)
                self.assertEqual(seen_code, code % 256 if code >= 0 else 128 - code, err)
                self.assertNotIn("stopped", err.lower())

    def test_its_output_may_be_the_input_of_another_program(self):
        """The report at the end is not among it; without a command there is nothing else in standard output."""
        folder = self.folder()
        run = [str(live.BINARY), "record", "-o", str(folder / "run.sqlite"), "--", str(live.program("plain"))]
        environment = self.environment(folder)
        alone = subprocess.run(run[5:], env=environment, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S)
        done = subprocess.run(run, env=environment, capture_output=True, check=True, timeout=LIMIT_S)
        self.assertEqual(done.stdout, alone.stdout)
        self.assertIn(b"calls of 1 process", done.stderr)

    def test_what_the_caller_blocks_and_ignores_is_inherited(self):
        def change():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGWINCH})

        for mode in ([], ["--preload"]):
            folder, seen = self.folder(), []
            command = ["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; exit 3"]
            for before in ([], [*self.command(folder, *mode), "--"]):
                done = subprocess.run([*before, *command], env=self.environment(folder), preexec_fn=change,
                                      restore_signals=False, capture_output=True, text=True, timeout=LIMIT_S, check=False)
                seen.append((done.returncode, done.stdout))
            self.assertEqual(*seen)
            self.assertEqual(seen[0][0], 3)

    def typed(self, shell, lines, before=()):
        """What an interactive shell prints for lines that are typed."""
        folder = self.folder()
        names = {name: folder / f"program_{name}" for name in "XY"}
        for path in names.values():
            shutil.copy(live.program("says"), path)
        before = [str(folder / "run.sqlite") if word == "FILE" else word for word in before]
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe([*before, *shell][0], [*before, *shell], {**self.environment(folder), "PS1": "$ ", "TERM": "dumb"})
        mode = termios.tcgetattr(terminal)
        mode[3] &= ~termios.ECHO  # what is typed would come before or after a prompt
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
        output = b""
        for line in [*lines, "exit 5"]:
            line = re.sub(r"\b[XY]\b", lambda m: f"./program_{m[0]} 1", line)
            os.write(terminal, f"{line}; echo don''e\n".encode())
            end = time.monotonic() + LIMIT_S
            part = b""
            while b"done\r\n" not in part and time.monotonic() < end:
                if not select.select([terminal], [], [], 0.5)[0]:
                    continue
                try:
                    got = os.read(terminal, 65536)
                except OSError:
                    break
                if not got:
                    break
                part += got
            output += part
        status = os.waitpid(pid, 0)[1]
        os.close(terminal)
        text = output.decode(errors="replace").replace("$ ", "")  # prompts come when the shell waits
        said = [line for line in text.splitlines() if not line.startswith("tidegauge: ")]
        return os.waitstatus_to_exitcode(status), plain("\n".join(said)).replace(str(folder), "FOLDER")

    def test_an_interactive_shell_keeps_its_jobs(self):
        record = [str(live.BINARY), "record", "--no-summary", "-o", "FILE", "--"]
        lines = ["X", "X | Y", "sleep 1 & wait", "Y; jobs", "(X; Y); echo $?"]
        for shell in (["bash", "--norc", "--noediting", "-i"], ["zsh", "-f", "+Z", "-i"], ["dash", "-i"]):
            with self.subTest(shell[0]):
                if not shutil.which(shell[0]):
                    self.skipTest(f"there is no {shell[0]}: apt-get install {shell[0]}")
                code, output = self.typed(shell, lines)
                seen_code, seen = self.typed(shell, lines, record)
                self.assertEqual(seen, output)
                self.assertNotRegex(seen.lower(), "stopped|suspended")
                self.assertEqual(seen_code, code)
                self.assertEqual(code, 5)


if __name__ == "__main__":
    live.main()
