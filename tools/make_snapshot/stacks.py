"""Stacks and frames by number: the same number always gives the same frames, nothing is stored.

A stack looks like a training program's, innermost frame first: (C++ frames,) a torch function,
forward and _call_impl of modules in turn, a training step, the script. The number's digits choose
the modules, so that stacks with near numbers share their outer frames, and no two are equal.
"""

import random

FUNCTIONS = ["linear", "layer_norm", "softmax", "gelu", "matmul", "cat", "embedding", "dropout",
             "scaled_dot_product_attention", "cross_entropy", "empty_like", "zeros", "clone", "add"]
MODULES = ["Attention", "Mlp", "Block", "Encoder", "Decoder", "Embedding", "Head", "Norm", "Router"]
CPP = ["at::native::empty_cuda(c10::ArrayRef<long>)", "at::detail::empty_generic",
       "at::_ops::empty_memory_format::call", "at::native::linear", "at::_ops::linear::call",
       "torch::autograd::THPVariable_linear", "_PyEval_EvalFrameDefault"]
FORWARDS = 3 * len(MODULES)
FUNCTION, FORWARD, CALL, STEP, SCRIPT, NATIVE = range(6)


class Stacks:
    """count stacks of depth low to high."""

    def __init__(self, seed, count, low, high, cpp_frames):
        self.seed, self.count, self.low, self.high = seed, count, low, high
        self.cpp_frames = cpp_frames

    def frame(self, number):
        """(name, filename, line)."""
        index, kind = divmod(number, 6)
        if kind == FUNCTION:
            name = FUNCTIONS[index % len(FUNCTIONS)]
            return name, "site-packages/torch/nn/functional.py", 100 + index
        if kind == FORWARD:
            module = MODULES[index % len(MODULES)].lower()
            return "forward", f"app/model/{module}.py", 40 + 13 * (index // len(MODULES))
        if kind == CALL:
            return "_call_impl", "site-packages/torch/nn/modules/module.py", 1553
        if kind == STEP:
            return "training_step", "app/train.py", 70 + index
        if kind == SCRIPT:
            return "<module>", "app/train.py", 120
        return CPP[index], "??", 0

    def frames(self, number):
        """Frame numbers of a stack, innermost first."""
        depth = random.Random(self.seed * 1_000_003 + number).randint(self.low, self.high)
        native = depth // 3 if self.cpp_frames else 0
        frames = [at % len(CPP) * 6 + NATIVE for at in range(native)]
        rest, function = divmod(number, len(FUNCTIONS))
        inner = len(frames)
        frames.append(0)
        for at in range(inner + 1, depth - 2):
            if (depth - at) % 2:
                rest, digit = divmod(rest, FORWARDS)
                frames.append((digit + 5 * at) % FORWARDS * 6 + FORWARD)
            else:
                frames.append(CALL)
        if depth - inner > 2:
            rest, digit = divmod(rest, 4)
            frames.append(digit * 6 + STEP)
        if depth - inner > 1:
            frames.append(SCRIPT)
        # Digits that found no frame part the stacks by the line of the innermost function.
        frames[inner] = (function + rest * len(FUNCTIONS)) * 6 + FUNCTION
        return frames
