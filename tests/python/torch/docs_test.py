#!/usr/bin/env python3
"""The examples of docs/python-torch.md run as they stand."""
import json
import re
import unittest

import programs

PAGE = programs.ROOT / "docs/python-torch.md"


class Examples(programs.TorchTest):
    def test_each_example_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 6)
        (self.out / "blocks.json").write_text(json.dumps(blocks))
        done = self.run_torch("""
            no_math_libraries()
            for number, block in enumerate(json.loads((OUT / "blocks.json").read_text())):
                exec(compile(block, f"block {number}", "exec"), {"__name__": "__main__"})
        """)
        self.assertIn("cuda:0", done.out)  # of print(r.trace.report())


if __name__ == "__main__":
    unittest.main()
