#!/usr/bin/env python3
"""Launches and copies are added up in the kernel: no number of geometries, processes or programs may
make the sums wrong, or give one program what another one did."""
import shlex
import signal
import subprocess

from live import LIMIT_S, LiveTest, Run, main, program


class Counts(LiveTest):
    def rows(self, run, sql):
        return [tuple(row) for row in run.twin.file.execute(sql)]

    def test_more_geometries_than_a_table_has_rows(self):
        run = self.record(program("geometries"), 200_000, 4)
        self.assertEqual(run.twin.losses(), {})
        self.assertEqual(run.expected[0]["launches"], 200_000)
        self.assertEqual(self.rows(run, "SELECT sum(count), count(DISTINCT grid_x), max(grid_x) FROM launches"),
                         [(200_000, 200_000, 200_000)])

    def test_what_does_not_fit_is_counted_without_its_geometry(self):
        """The recorder is stopped while 400,000 geometries come: the table cannot hold them."""
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder), "--", program("geometries"), "400000", "2", "wait"],
                                    env=self.environment(folder), stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.write("go\n")
        recorder.stdin.flush()
        self.assertEqual(recorder.stdout.readline(), "done\n")
        recorder.send_signal(signal.SIGCONT)
        _, said = recorder.communicate(timeout=LIMIT_S)
        run = Run(folder, subprocess.CompletedProcess([], recorder.returncode, "", said))
        self.assertEqual(run.code, 0, said)
        self.assertEqual(self.rows(run, "SELECT sum(count) FROM launches"), [(400_000,)])
        beyond = self.rows(run, """SELECT sum(count), max(grid_x) FROM launches JOIN kernels USING(kernel_id)
                                   WHERE name = '(kernels not told apart)'""")
        lost = run.twin.losses()["no room for a launch"]
        self.assertGreater(lost, 0)
        self.assertEqual(beyond, [(lost, 0)])

    def test_the_same_few_from_many_threads(self):
        run = self.record(program("launches"))
        self.assertAsExpected(run, calls=False)

    def test_a_program_that_only_launches_is_not_idle(self):
        run = self.record(program("paced"), 120, 50, options=["--idle-timeout", "3"])
        self.assertAsExpected(run)
        self.assertEqual(run.expected[0]["launches"], 120)

    def test_each_program_of_a_process_has_its_own(self):
        """One process runs twenty programs, one after the other, sixteen such at a time; each launches
        at once."""
        rounds = 20
        command = " & ".join([shlex.join([str(program("first_launch")), str(rounds)])] * 16)
        run = self.record("sh", "-c", command + " & wait")
        self.assertEqual(run.twin.losses(), {})
        self.assertEqual(len(run.expected), 16 * rounds)
        found = self.rows(run, """
            SELECT p.pid, k.name, l.grid_x, sum(l.count) FROM launches l JOIN kernels k USING(kernel_id)
            JOIN processes p ON p.process_id = l.process_id GROUP BY l.process_id, k.kernel_id, l.grid_x""")
        pids = {row["pid"] for row in run.expected}
        self.assertEqual(sorted(found), sorted((pid, f"round_{left}", left, 3 + left)
                                               for pid in pids for left in range(1, rounds + 1)))
        self.assertEqual(self.rows(run, """
            SELECT count(*) FROM launches JOIN processes USING(process_id)
            WHERE launches.begin_ns > launches.end_ns OR launches.begin_ns < processes.began_ns"""), [(0,)])


if __name__ == "__main__":
    main()
